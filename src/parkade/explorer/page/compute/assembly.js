// From the steps of an engine to a scene: the numbers that parkade/explorer/scenes/build.py puts into one. They
// are computed by a module in WebAssembly. Its functions and their table of slots: packaging/wasm/scene.py.

import { Memory } from './slots.js';
import { closenessOf, endOf, nearOf, predictionOf, windowOf } from '../panels/theory.js';

/** Rows of a matrix with d columns. */
const rows = (values, d) => Array.from({ length: values.length / d }, (_, i) => [...values.slice(i * d, (i + 1) * d)]);

export class Assembly extends Memory {
  /** Numbers and sentences for scenes, from Python. */
  get texts() { return this.shared.scene; }

  /** Arrays of the table: `part` names where they begin. */
  arraysOf(part, ...ranks) { return this.arraysAt(this.texts.places[part], ...ranks); }

  /**
   * Begin a run by its plan (planner.js) and its settings. Of a plan it takes the `start`, the tokens
   * `held`, `centers`, `delta`, both radii, the basis and the spin of the `frame`, the `method`, and the
   * `product`, `V`, `rate` and `sharpness` of the model. States may have one column more, ln r.
   */
  begin(plan, wanted) {
    this.plan = plan;
    this.wanted = wanted;
    this.chunks = [];
  }

  /** Add steps: a chunk of Engine.run. */
  add(chunk) { this.chunks.push(chunk); }

  /**
   * What the steps show, by the names that it has in a scene; what JSON has packed is an ArrayBuffer.
   * The steps are forgotten then.
   */
  scene() {
    const { plan, wanted } = this;
    const { renyi, strong } = plan.centers;
    this.load();
    this.call('show', null);
    const parts = wanted.noise > 0; // then there are no merges, for clusters part again
    if (parts) this.call('link', null, plan.radius);
    else {
      this.merge(this.texts.halvings.scene);
      this.call('label', null);
    }
    const [times, tokens, logs] = this.arraysOf('frames', 1, 3, 2);
    const [labels, counts] = this.arraysOf('labels', 2, 1);
    const clusters = [...this.whole(counts)];
    const final = this.final();
    return {
      times: [...this.floats(times)],
      frames: Float32Array.from(this.floats(tokens)).buffer,
      log_radii: logs.size ? Float32Array.from(this.floats(logs)).buffer : null,
      radius: plan.radius,
      labels: Uint16Array.from(this.whole(labels)).buffer,
      clusters,
      plateaus: parts ? null : this.plateaus(),
      merges: parts ? null : this.merges(),
      forecast: parts ? null : this.forecast(final),
      ...this.law(),
      betas: this.betas([...this.floats(times)]),
      delta: plan.delta,
      centers: { delta: plan.delta, renyi: [...renyi], strong: [...strong] },
      consumption: {
        radius: plan.consumption_radius,
        renyi: this.shares(renyi),
        strong: this.shares(strong),
      },
      frozen_tokens: [...plan.held],
      theory: this.theory(final, clusters.at(-1)),
    };
  }

  /** When clusters merge, and when they were forecast to. */
  stairs() {
    this.load();
    this.merge(this.texts.halvings.stairs);
    const inOrder = (merges) => merges.map((merge) => merge.t).sort((a, b) => a - b);
    const forecast = this.forecast(this.final());
    return { seen: inOrder(this.merges()), forecast: forecast && inOrder(forecast.merges) };
  }

  /** What the page computes attention with: with β = 1 if it grows, for the page multiplies it. */
  law() {
    const { plan: { product, heads = null, V, generator = V }, wanted: { d, beta, growth } } = this;
    return {
      A: product && rows(product.map((each) => (growth ? 1 : beta) * each), d),
      heads: product ? null : heads,
      V: generator && rows(generator, d),
    };
  }

  /** β at these times, if it grows. */
  betas(times) {
    const { schedule } = this.plan;
    return schedule ? times.map((t) => schedule.betas[schedule.starts.findLastIndex((start) => start <= t)]) : null;
  }

  /** Whether it is the model of the paper: one head and nothing else, with a constant β. */
  get plain() {
    const { shared: { parts }, wanted } = this;
    return Object.entries(parts).every(([name, plain]) => name === 'mask' || plain.includes(wanted[name]));
  }

  /** Hand over the start and all steps, and forget them here. */
  load() {
    const { chunks, wanted: { d }, plan: { start, held, frame, method } } = this;
    const n = start.length / d;
    const taken = new Set(held);
    const free = [...Array(n).keys()].filter((k) => !taken.has(k));
    const steps = chunks.reduce((sum, chunk) => sum + chunk.times.length, 0);
    const columns = chunks[0].tokens.length / chunks[0].times.length / free.length;
    const dense = chunks[0].dense.length / chunks[0].tokens.length;
    this.clear();
    this.enter(
      this.place(start, n, d), this.place(frame.spin, d, d),
      [this.shared.methods.indexOf(method), steps, dense, columns - d].map(BigInt),
    );
    this.call('begin', null);
    const largest = (part) => this.place(
      chunks.reduce((most, chunk) => (chunk[part].length > most.length ? chunk[part] : most), []),
    )[0];
    const [times, tokens, bends] = ['times', 'tokens', 'dense'].map(largest);
    const more = [this.place(frame.basis, d, d), this.placeWhole(free)];
    let first = 0;
    for (const chunk of chunks) {
      const m = chunk.times.length;
      const parts = [[times, chunk.times], [tokens, chunk.tokens], [bends, chunk.dense]];
      for (const [at, values] of parts) this.floats({ at: Number(at), size: values.length }).set(values);
      const places = [times, m, tokens, m, free.length, columns, bends, m, dense, free.length, columns];
      this.enter(places.map(BigInt), ...more);
      this.call('take', null, first);
      first += m;
    }
    this.chunks = [];
  }

  /** Put into the table what moves tokens. */
  enterLaw() {
    const { plan: { product, V, rate, sharpness, radius }, wanted: { d, beta } } = this;
    this.enter(
      this.place(product ?? new Float64Array(d * d), d, d), this.place(V, d, d), this.place([beta, rate, sharpness, radius], 4),
    );
  }

  /** Find clusters, and bisect the steps in which they merge this number of times. */
  merge(halvings) {
    this.enterLaw();
    this.call('merge', null, halvings);
  }

  /** The merges of clusters. */
  merges() {
    const [times, ...whole] = this.arraysOf('clusters', 1, 1, 1, 1);
    const [absorbed, into, size] = whole.map((each) => this.whole(each));
    return [...this.floats(times)]
      .map((t, i) => ({ t, absorbed: absorbed[i], into: into[i], size: size[i] }));
  }

  /** The plateaus: periods in which nothing merges for long. */
  plateaus() {
    const [, , , , ...parts] = this.arraysOf('clusters', 1, 1, 1, 1, 1, 1, 1, 1);
    const [start, end, lifetime] = parts.slice(0, 3).map((each) => this.floats(each));
    return [...this.whole(parts[3])]
      .map((clusters, i) => ({ start: start[i], end: end[i], clusters, lifetime: lifetime[i] }));
  }

  /** The final configuration that V predicts; null if the theory knows no such model. */
  final() {
    if (!this.plain) return null;
    this.enterLaw();
    this.call('predict', null);
    const [numbers, , , turns] = this.arraysOf('final', 1, 2, 2, 1).map((each) => [...this.floats(each)]);
    const [number, value, turn, gap, dim, size, own, leads] = numbers;
    const { kind } = this.texts.cases[number];
    return { case: number, kind, value, turn, gap, dim, size, own, turns: turns.slice(0, leads) };
  }

  /** The merges that were forecast, and how many of those seen are among them; null for none. */
  forecast(final) {
    if (final === null || this.wanted.mask !== 'causal' || this.plan.held.length) return null;
    if (final.kind !== 'one point' || final.dim < 2) return null;
    this.enterLaw();
    if (this.call('forecast', 'Int32') < 0) return null;
    const [times, ...whole] = this.arraysOf('forecast', 1, 1, 1, 1);
    const [absorbed, into, [seen, right]] = whole.map((each) => this.whole(each));
    const merges = [...this.floats(times)].map((t, i) => ({ t, absorbed: absorbed[i], into: into[i] }));
    return { merges, since: this.texts.since, seen, right };
  }

  /** What is predicted of a run that ends with this number of clusters, what was seen, and whether they agree. */
  theory(final, clusters) {
    const { texts, plan: { held }, wanted: { T, d, mask, growth } } = this;
    const line = (kind, predicted, seen, agrees = null) => ({ kind, predicted, seen, agrees });
    if (final === null) {
      return line('outside', texts.lines[growth ? 'constant' : 'plain'], endOf(texts, clusters, T));
    }
    if (held.length) return line('frozen', ...this.captured());
    this.enterLaw();
    this.call('judge', null, Number(mask === 'causal'));
    const [degrees, verdict] = this.output();
    const seen = endOf(texts, clusters, T, final.dim === d ? '' : closenessOf(texts, degrees));
    if (mask !== 'causal') return line(final.kind, texts.lines[mask === 'full' ? 'full' : 'masked'], seen);
    const agrees = texts.agrees[verdict];
    const moves = agrees === null && ['one point', 'two points'].includes(final.kind);
    return line(final.kind, predictionOf(texts, final), seen + (moves ? texts.lines.moving : ''), agrees);
  }

  /** What is predicted for tokens among frozen ones, what was seen, and whether they agree. */
  captured() {
    const { texts, plan: { held, product, V }, wanted: { T, d, beta } } = this;
    this.enter(this.placeWhole(held));
    const fits = this.call('capture', 'Int32', beta) !== 0;
    const [near, N, c, eps, low, high] = this.output();
    const seen = nearOf(texts, near, held.length, T);
    const isOne = (matrix) => matrix.every((each, i) => each === Number(i % (d + 1) === 0));
    if (d !== 2 || !beta || !isOne(product) || !isOne(V)) return [texts.lines.circle, seen, null];
    const agrees = fits && near <= eps / Math.sqrt(beta) ? true : null;
    return [windowOf(texts, { N, c, eps, beta, low, high, fits }), seen, agrees];
  }

  /** The share of tokens around centres, in each frame. */
  shares(centers) {
    this.enter(this.placeWhole(centers));
    this.call('consume', null, this.plan.consumption_radius);
    return [...this.output()];
  }

  /** The numbers that a function has written. */
  output() { return this.floats(this.arraysOf('output', 1)[0]); }

  /** Whole numbers in the memory, as slots with their address and how many they are. */
  placeWhole(values) {
    const slots = this.place(new Float64Array(values.length), values.length);
    new BigInt64Array(this.calls.memory.buffer, Number(slots[0])).set([...values].map(BigInt));
    return slots;
  }

  /** Whole numbers of the memory, each of which has 32 bits at most. */
  whole({ at, size }) {
    const halves = new Int32Array(this.calls.memory.buffer, at, 2 * size);
    return Int32Array.from({ length: size }, (_, i) => halves[2 * i]);
  }
}
