// From the steps of an engine to a scene: the numbers that parkade/explorer/build.py puts into one. They
// are computed by a module in WebAssembly; what it finds in the table of slots: packaging/wasm/scene.py.

import { Memory } from './memory.js';

// Where things begin in the table.
const RUN = 32;
const SHOWN = 64;
const FOUND = 80;
const LABELS = 112;
const SHARES = 120;
const TOLD = 124;

const METHODS = ['explicit', 'implicit', 'splitting'];
const ROUGHLY = 8; // halvings that find a merge to a pixel
const EXACTLY = 30;
const SINCE = 100; // merges before this time are not compared: clusters still form

export class Assembly extends Memory {
  /** Begin a run by its plan (planner.js). */
  begin(plan, wanted) {
    this.plan = plan;
    this.wanted = wanted;
    this.chunks = [];
  }

  /** Add steps: a chunk of Engine.run. */
  add(chunk) { this.chunks.push(chunk); }

  /** The scene of the steps so far. What is packed in JSON is an ArrayBuffer here. */
  scene() {
    const { plan } = this;
    this.load();
    this.call('show', null);
    this.merge(ROUGHLY);
    this.call('label', null);
    const [times, tokens] = this.found(SHOWN, 1, 3);
    const [labels, counts] = this.found(LABELS, 2, 1);
    return {
      times: [...this.floats(times)],
      frames: Float32Array.from(this.floats(tokens)).buffer,
      radius: plan.radius,
      labels: Uint16Array.from(this.whole(labels)).buffer,
      clusters: [...this.whole(counts)],
      plateaus: this.plateaus(),
      merges: this.merges(),
      forecast: this.forecast(),
      delta: plan.delta,
      centers: { delta: plan.delta, renyi: [...plan.centers.renyi], strong: [...plan.centers.strong] },
      consumption: {
        radius: plan.consumption_radius,
        renyi: this.shares(plan.centers.renyi),
        strong: this.shares(plan.centers.strong),
      },
      frozen_tokens: [...plan.held],
    };
  }

  /** When clusters merge, and when they were forecast to. */
  stairs() {
    this.load();
    this.merge(EXACTLY);
    const inOrder = (merges) => merges.map((merge) => merge.t).sort((a, b) => a - b);
    const told = this.forecast();
    return { seen: inOrder(this.merges()), foretold: told && inOrder(told.merges) };
  }

  /** Hand over the start and all steps. */
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
      [METHODS.indexOf(method), steps, dense, columns - d].map(BigInt),
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
  }

  /** Find clusters, and bisect the steps in which they merge so often. */
  merge(halvings) {
    const { plan: { V, radius }, wanted: { d } } = this;
    this.enter(this.place(V, d, d));
    this.call('merge', null, radius, halvings);
  }

  /** The merges that were found. */
  merges() {
    const [times, ...whole] = this.found(FOUND, 1, 1, 1, 1);
    const [absorbed, into, size] = whole.map((each) => this.whole(each));
    return [...this.floats(times)]
      .map((t, i) => ({ t, absorbed: absorbed[i], into: into[i], size: size[i] }));
  }

  /** The plateaus that were found. */
  plateaus() {
    const [, , , , ...parts] = this.found(FOUND, 1, 1, 1, 1, 1, 1, 1, 1);
    const [start, end, lifetime] = parts.slice(0, 3).map((each) => this.floats(each));
    return [...this.whole(parts[3])]
      .map((clusters, i) => ({ start: start[i], end: end[i], clusters, lifetime: lifetime[i] }));
  }

  /** The merges that were forecast, and how many of those seen are among them; null for none. */
  forecast() {
    const { plan: { Q, K, held, radius, final, plain }, wanted: { d, beta, mask } } = this;
    if (!plain || mask !== 'causal' || held.length) return null;
    if (final.kind !== 'one point' || final.dim < 2) return null;
    this.enter(
      this.place(Q, d, d), this.place(K, d, d), this.place(final.basis, d, final.dim),
      this.place(final.projection, d, d), this.place([beta, final.eigenvalue, radius], 3),
    );
    if (this.call('foretell', 'Int32') < 0) return null;
    const [times, ...whole] = this.found(TOLD, 1, 1, 1, 1);
    const [absorbed, into, [seen, right]] = whole.map((each) => this.whole(each));
    const merges = [...this.floats(times)].map((t, i) => ({ t, absorbed: absorbed[i], into: into[i] }));
    return { merges, since: SINCE, seen, right };
  }

  /** The share of tokens around centres, in each frame. */
  shares(centers) {
    this.enter(this.placeWhole(centers));
    this.call('consume', null, this.plan.consumption_radius);
    return [...this.floats(this.found(SHARES, 1)[0])];
  }

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
