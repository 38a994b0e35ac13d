// A run, unpacked, and what can be computed from it for any moment.
//
// A moment is a number u in [0, 1]: t = 0 at u = 0, then equal ratios of t take equal lengths.
// Where the unit of time is a layer, equal steps do.
//
// Always there: n, d, times, frames, labels, clusters. The rest may be null or missing:
// a path need not have a model (mask, A or heads, V), lengths, centres, merges, a prediction, a forecast, a proof or statistics.
//
// Whatever the page says of clusters it takes from labelsAt: the leader of each token at a moment.

import { base64, bytesOf } from './files/base64.js';
import { UPRIGHT, facing } from './draw/turn.js';
import { Weights } from './draw/weights.js';
import { StoredWeights } from './draw/stored.js';
import { short, tokenName } from './format.js';

const HEAD = 0.04; // share of the time line between t = 0 and the first frame after it

/** Packed numbers, which may be unpacked already. */
const bytes = (packed) => (typeof packed === 'string' ? bytesOf(packed).buffer : packed);

export class Scene {
  constructor(data) {
    Object.assign(this, data);
    this.names = Object.keys(data);
    this.frozen = data.frozen ?? []; // points
    this.frames = new Float32Array(bytes(data.frames)); // F × n × d
    this.labels = new Uint16Array(bytes(data.labels)); // F × n
    this.logRadii = data.log_radii ? new Float32Array(bytes(data.log_radii)) : null; // F × n
    this.count = this.times.length;
    this.end = this.times[this.count - 1];
    // A saved run may begin late, or contain its end only.
    this.head = this.times[0] > 0 ? 0 : HEAD;
    this.first = this.times.find((t) => t > 0) ?? 1;
    this.linear = Boolean(this.unit); // layers
    this.decades = this.linear ? 0 : Math.log10(this.end / this.first);
    this.moments = this.times.map((t) => this.moment(t));
    this.frozenSet = new Set(this.frozen_tokens);
    // Frozen points that are not among the n tokens; all tokens attend to them.
    const weights = this.frozen_weights ?? [];
    this.points = this.frozenSet.size ? [] : this.frozen.map((place, i) => ({ place, weight: weights[i] ?? 1 }));
    this.frameOf = new WeakMap(); // the frame of tokens that were asked for
    this.weights = data.attention ? new StoredWeights(this, bytes(data.attention.roots)) : new Weights(this);
    this.renyi = new Set(this.centers?.renyi ?? []);
    this.strong = new Set(this.centers?.strong ?? []);
    this.arrivals = (this.merges ?? []).map((m) => m.t).sort((a, b) => a - b);
    this.joins = new Map((this.merges ?? []).map((merge) => [merge.absorbed, merge]));
    this.forecastArrivals = (this.forecast?.merges ?? []).map((m) => m.t).sort((a, b) => a - b);
    const state = (this.plateaus ?? []).find((p) => p.clusters < this.n);
    // Where clusters part again, there is no time since which they are formed.
    this.formed = state ? this.frameAt(this.moment(state.start)).frame + 1 : this.merges ? this.count - 1 : 0;
    this.space = this.d === 2 ? 2 : 3;
    this.drawn = this.project();
    // The first token starts on the near side, since the others follow it.
    this.home = this.d === 2 ? UPRIGHT : facing(this.drawn);
    this.pace = this.measurePace();
  }

  /** Whether the page can compute attention weights. */
  get hasAttention() { return this.weights.known; }

  /** Whether there are centres with caps. */
  get hasCaps() { return Number.isFinite(this.centers?.delta); }

  /** The name of token k: its word, if there are words. */
  name(k) { return this.words ? `“${this.words[k].trim() || this.words[k]}”` : tokenName(k); }

  /** A time in words. */
  when(t) { return this.linear ? `${this.unit} ${short(t)}` : `t = ${short(t)}`; }

  /** One line that says what is shown. */
  get caption() { return this.label ?? `${this.n} tokens, d = ${this.d}`; }

  /** Where t lies on the time line, from 0 to 1. */
  moment(t) {
    if (t >= this.end) return 1;
    if (t <= 0) return 0;
    if (this.linear) return (t - this.times[0]) / (this.end - this.times[0]);
    if (t <= this.first) return this.head * (t / this.first);
    return Math.min(1, this.head + (1 - this.head) * (Math.log10(t / this.first) / this.decades));
  }

  time(u) {
    if (u >= 1 || this.count === 1) return this.end;
    if (this.linear) return this.times[0] + Math.max(u, 0) * (this.end - this.times[0]);
    if (u < this.head) return (this.first * Math.max(u, 0)) / this.head;
    return this.first * 10 ** (((Math.max(u, 0) - this.head) / (1 - this.head)) * this.decades);
  }

  /** The frame at or before u, and which part of the way to the next one u has covered. */
  frameAt(u) {
    let low = 0;
    let high = this.count - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.moments[middle] <= u) low = middle;
      else high = middle - 1;
    }
    const gap = low + 1 < this.count ? this.moments[low + 1] - this.moments[low] : 0;
    return { frame: low, part: gap > 0 ? Math.min(1, (u - this.moments[low]) / gap) : 0 };
  }

  /** All tokens at u, n × d: between frames they follow great circles. */
  tokensAt(u) {
    const place = this.frameAt(u);
    const tokens = between(this.frames, this.n, this.d, place, true);
    this.frameOf.set(tokens, place.frame);
    return tokens;
  }

  /** The tokens as drawn: two or three coordinates, for d > 3 along the principal axes. */
  drawnAt(u) {
    if (this.drawn === this.frames) return this.tokensAt(u);
    return between(this.drawn, this.n, 3, this.frameAt(u), false);
  }

  /** The leader of each token at u: as in the frame before, and leaders that have joined another one since lead no more. */
  labelsAt(u) {
    const { frame } = this.frameAt(u);
    const labels = this.labels.slice(frame * this.n, (frame + 1) * this.n);
    const t = this.time(u) * (1 + 1e-9); // a merge counts at its own time in spite of rounding
    const follow = (leader) => {
      const join = this.joins.get(leader);
      return join && join.t <= t ? follow(join.into) : leader;
    };
    return this.joins.size ? labels.map(follow) : labels;
  }

  /** The number of clusters at u. */
  clustersAt(u) { return new Set(this.labelsAt(u)).size; }

  /** The angle between the start of a token and its place now. */
  drift(tokens, index) {
    return angleBetween(this.frames, index * this.d, tokens, index * this.d, this.d);
  }

  /** Attention weights of row k among `tokens`, into `row`: see Weights. */
  attentionRow(tokens, k, row) { return this.weights.row(tokens, k, row); }

  /** The length of token k at u; null if tokens have none. */
  lengthAt(u, k) {
    if (!this.logRadii) return null;
    const { frame, part } = this.frameAt(u);
    const at = frame * this.n + k;
    const next = Math.min(at + this.n, this.logRadii.length - this.n + k);
    return Math.exp(this.logRadii[at] + part * (this.logRadii[next] - this.logRadii[at]));
  }

  /** A basis of the leading eigenspace L of a diagonal V; null if L is everything, or unknown. */
  leading() {
    const { V, d } = this;
    if (!V || V.some((row, i) => row.some((entry, j) => i !== j && entry !== 0))) return null;
    const top = Math.max(...V.map((row, i) => row[i]));
    const basis = V.map((row, i) => i).filter((i) => V[i][i] === top);
    if (basis.length === d) return null;
    return basis.map((i) => V.map((_, j) => (i === j ? 1 : 0)));
  }

  /** What it was made of, for JSON. */
  toData() {
    const { frames, labels, logRadii } = this;
    const numbers = { frames, labels, log_radii: logRadii };
    const pack = (array) => array && base64(new Uint8Array(array.buffer));
    return Object.fromEntries(this.names.map((name) => [name, name in numbers ? pack(numbers[name]) : this[name]]));
  }

  /** A point of d coordinates as it is drawn. */
  drawnPoint(point) {
    if (!this.axes) return point;
    return this.axes.directions.map((direction) => direction.reduce((sum, c, i) => sum + c * point[i], 0));
  }

  /** Frames along the principal axes if there are more than three dimensions. */
  project() {
    if (!this.axes) return this.frames;
    const { n, d, count } = this;
    const out = new Float32Array(count * n * 3);
    for (let row = 0; row < count * n; row++) {
      this.axes.directions.forEach((direction, axis) => {
        let sum = 0;
        for (let i = 0; i < d; i++) sum += direction[i] * this.frames[row * d + i];
        out[row * 3 + axis] = sum;
      });
    }
    return out;
  }

  /**
   * The clock of the animation at each frame, from 0 to 1. It follows log time, but slower
   * while tokens move: on the log scale alone, late merges would be too fast to see.
   */
  measurePace() {
    const { n, d, frames } = this;
    const steps = [0];
    for (let f = 1; f < this.count; f++) {
      let most = 0;
      const stride = Math.max(1, Math.floor(n / 200));
      for (let k = 0; k < n; k += stride) {
        const angle = angleBetween(frames, ((f - 1) * n + k) * d, frames, (f * n + k) * d, d);
        if (angle > most) most = angle;
      }
      steps.push(most);
    }
    const moved = steps.reduce((a, b) => a + b, 0) || 1;
    let sum = 0;
    return steps.map((step, f) => {
      const length = f ? this.moments[f] - this.moments[f - 1] : 0;
      sum += 0.45 * length + 0.55 * (step / moved);
      return sum;
    });
  }

  clock(u) {
    const { frame, part } = this.frameAt(u);
    const next = this.pace[Math.min(frame + 1, this.count - 1)];
    return this.pace[frame] + part * (next - this.pace[frame]);
  }

  momentOfClock(s) {
    const { pace, moments } = this;
    let i = 0;
    while (i + 1 < this.count && pace[i + 1] <= s) i++;
    if (i + 1 >= this.count) return 1;
    const gap = pace[i + 1] - pace[i];
    return moments[i] + (gap > 0 ? (s - pace[i]) / gap : 0) * (moments[i + 1] - moments[i]);
  }
}

function angleBetween(a, i, b, j, d) {
  // Exact for small angles too, where arccos is not.
  let apart = 0;
  let along = 0;
  for (let c = 0; c < d; c++) {
    apart += (a[i + c] - b[j + c]) ** 2;
    along += (a[i + c] + b[j + c]) ** 2;
  }
  return 2 * Math.atan2(Math.sqrt(apart), Math.sqrt(along));
}

function between(frames, n, d, { frame, part }, onSphere) {
  const start = frame * n * d;
  const out = frames.slice(start, start + n * d);
  if (part === 0) return out;
  const next = start + n * d;
  for (let k = 0; k < n; k++) {
    let a = 1 - part;
    let b = part;
    if (onSphere) {
      const angle = angleBetween(frames, start + k * d, frames, next + k * d, d);
      const sine = Math.sin(angle);
      if (sine > 1e-6) {
        a = Math.sin((1 - part) * angle) / sine;
        b = Math.sin(part * angle) / sine;
      }
    }
    for (let c = 0; c < d; c++) {
      out[k * d + c] = a * frames[start + k * d + c] + b * frames[next + k * d + c];
    }
  }
  return out;
}
