// What comes before the steps of a run: its start, its centres and its plan, computed by a module in
// WebAssembly. Its functions and what they find in the table of slots: packaging/wasm/plan.py.

import { Memory } from './slots.js';

const OUTPUT = 32;
const MATRICES = ['V', 'Q', 'K'];
const BLOCKED = 0;
const STRONG = 2;
const ROWS = { 2: 6, 3: 4 }; // of tables of harmonic sums, by d

/** Some rows of a matrix with d columns. */
function rows(values, d, indices) {
  const out = new Float64Array(indices.length * d);
  indices.forEach((k, i) => out.set(values.subarray(k * d, (k + 1) * d), i * d));
  return out;
}

export class Planner extends Memory {
  constructor(module) {
    super(module);
    const [bytes] = this.asked('texts', [], [], 1);
    this.texts = JSON.parse(new TextDecoder().decode(Uint8Array.from(bytes)));
  }

  /**
   * The plan of a run.
   *
   * Wanted are n, d, beta, c, T, seed, tol, mask ('causal' or 'full'), frozen ('none', 'renyi' or
   * 'strong'), and V, Q and K, each as a flat array or { random: SEED }.
   *
   * A plan has the `start` (n, d), the matrices as numbers, `delta`, `radius` of clusters,
   * `consumption_radius`, `rate`, `sharpness` and `product` of the model, `centers` of both kinds and
   * the tokens `held`; the `problem` for Engine.run, the `frame`, `method`, `reason`, `engine` and
   * `sums`; `phase_known_until`, and the least number of `steps`, if that is known, with the
   * `longest` T that takes no more steps than are allowed. If all tokens are held, there is no problem.
   */
  plan(wanted) {
    const { n, d } = wanted;
    const start = this.filled('draw', n, d, wanted.seed);
    const matrices = Object.fromEntries(MATRICES.map((name) => [name, this.matrix(name, wanted)]));
    const given = { ...wanted, ...matrices };
    const [measures, product] = this.asked('measure', this.model(given), [], 1, 2);
    const [delta, consumption, radius, rate, sharpness] = measures;
    const [fates] = this.asked('park', [[start, n, d]], [delta], 1);
    const indices = (keep) => Int32Array.from(fates.keys()).filter((k) => keep(fates[k], k));
    const centers = {
      renyi: indices((fate) => fate !== BLOCKED),
      strong: indices((fate) => fate === STRONG),
    };
    const held = centers[wanted.frozen] ?? new Int32Array(0);
    const free = indices((fate, k) => !held.includes(k));
    return {
      start,
      ...matrices,
      delta,
      consumption_radius: consumption,
      radius,
      rate,
      sharpness,
      product,
      centers,
      held,
      ...(free.length ? this.chosen(given, rows(start, d, free), rows(start, d, held)) : null),
    };
  }

  /** The plan with direct sums instead of harmonic ones. */
  direct(plan) {
    const { problem, floors } = plan;
    const [engine] = this.texts.engines[problem.d];
    const other = { ...problem, table: null, accuracy: 0, floor: floors.direct };
    return { ...plan, problem: other, sums: 'direct', engine };
  }

  /** Another plan for a run whose explicit steps are too short; null if there is none. */
  instead(plan, wanted) {
    const other = plan.method === 'explicit' ? this.plan({ ...wanted, implicit: true }) : plan;
    return other.method === plan.method ? null : other;
  }

  /** A new array (n, d) that a function fills. */
  filled(name, n, d, ...args) {
    this.clear();
    const [at] = this.place(new Float64Array(n * d), n, d);
    this.enter([at, BigInt(n), BigInt(d)]);
    this.call(name, null, ...args);
    return this.floats({ at: Number(at), size: n * d }).slice();
  }

  /** What a function finds in arrays, as arrays with so many dimensions each. */
  asked(name, arrays, args, ...ranks) {
    this.clear();
    this.enter(...arrays.map((array) => this.place(...array)));
    this.call(name, null, ...args);
    return this.found(OUTPUT, ...ranks).map((each) => this.floats(each).slice());
  }

  /** A matrix as numbers; a random one is drawn. */
  matrix(name, { [name]: given, d }) {
    if (given.random === undefined) return Float64Array.from(given);
    return this.filled('matrix', d, d, given.random, name.charCodeAt(0));
  }

  /** A model as arrays. */
  model({ V, Q, K, d, beta, c, T, tol, mask, implicit }) {
    const numbers = [beta, c, T, tol, Number(mask === 'causal'), Number(Boolean(implicit))];
    return [[[...V, ...Q, ...K], 3, d, d], [numbers, numbers.length]];
  }

  /** What of a plan depends on the tokens that move, and on those at rest. */
  chosen(given, free, held) {
    const { d, tol, T, mask } = given;
    const arrays = [...this.model(given), [free, free.length / d, d], [held, held.length / d, d]];
    const found = this.asked('choose', arrays, [], 2, 2, 2, 2, 2, 2, 2, 2, 1);
    const [tokens, frozen, query, value, own, table, basis, spin, numbers] = found;
    const [verdict, accuracy, floor, direct, stretch, leading, ...rest] = numbers;
    const [rotates, attracts, drifts] = rest.map(Boolean);
    const [, , , phase, steps, longest] = rest;
    const [method, reason] = this.texts.verdicts[verdict];
    const texts = this.texts.engines[d];
    const columns = table.length / ROWS[d];
    return {
      method,
      reason,
      sums: columns ? 'harmonic' : 'direct',
      engine: columns ? texts[1].replace('{}', columns) : texts[0],
      frame: { basis, spin, leading, rotates, attracts, drifts },
      floors: { harmonic: floor, direct },
      phase_known_until: phase,
      steps,
      longest,
      problem: {
        method,
        d,
        tokens,
        query,
        value,
        own_value: own,
        frozen,
        frozen_weights: new Float64Array(frozen.length / d).fill(1),
        causal: mask === 'causal',
        table: columns ? { rows: ROWS[d], values: table } : null,
        accuracy,
        floor,
        stretch,
        t_end: T,
        tol,
      },
    };
  }
}
