// What comes before the steps of a run: its start, its centres and its plan, computed by a module in
// WebAssembly. Its functions and what they find in the table of slots: packaging/wasm/plan.py.

import { Memory } from './slots.js';

const MATRICES = ['V', 'Q', 'K'];

/** Some rows of a matrix with d columns. */
function rows(values, d, indices) {
  const out = new Float64Array(indices.length * d);
  indices.forEach((k, i) => out.set(values.subarray(k * d, (k + 1) * d), i * d));
  return out;
}

export class Planner extends Memory {
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
   * `longest` T that takes no more steps than are allowed; its `effort`, as Pace (pace.js) takes it.
   * If all tokens are held, there is no problem.
   */
  plan(wanted) {
    const { n, d } = wanted;
    const start = this.filled('draw', n, d, wanted.seed);
    const matrices = Object.fromEntries(MATRICES.map((name) => [name, this.matrix(name, wanted)]));
    const request = { ...wanted, ...matrices };
    const [measures, product] = this.arraysOf('measure', this.model(request), [], 1, 2);
    const [delta, consumption, radius, rate, sharpness] = measures;
    const { blocked, strong } = this.shared.plan;
    const [fates] = this.arraysOf('park', [[start, n, d]], [delta], 1);
    const indices = (keep) => Int32Array.from(fates.keys()).filter((k) => keep(fates[k], k));
    const centers = {
      renyi: indices((fate) => fate !== blocked),
      strong: indices((fate) => fate === strong),
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
      ...(free.length ? this.chosen(request, rows(start, d, free), rows(start, d, held)) : null),
    };
  }

  /** The plan with direct sums instead of harmonic ones. */
  direct(plan) {
    const { problem, direct: { floor, seconds } } = plan;
    const [engine] = this.shared.plan.engines[problem.d];
    const other = { ...problem, table: null, accuracy: 0, floor };
    return { ...plan, problem: other, sums: 'direct', engine, effort: { ...plan.effort, seconds } };
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

  /** The results of a function of arrays: arrays with these numbers of dimensions. */
  arraysOf(name, arrays, args, ...ranks) {
    this.clear();
    this.enter(...arrays.map((array) => this.place(...array)));
    this.call(name, null, ...args);
    return this.arraysAt(this.shared.plan.output, ...ranks).map((each) => this.floats(each).slice());
  }

  /** A matrix as numbers; a random one is drawn. */
  matrix(name, { [name]: entries, d }) {
    if (entries.random === undefined) return Float64Array.from(entries);
    return this.filled('matrix', d, d, entries.random, name.charCodeAt(0));
  }

  /** A model as arrays. */
  model({ V, Q, K, d, beta, c, T, tol, mask, implicit }) {
    const numbers = [beta, c, T, tol, Number(mask === 'causal'), Number(Boolean(implicit))];
    return [[[...V, ...Q, ...K], 3, d, d], [numbers, numbers.length]];
  }

  /** The part of a plan that depends on the tokens that move, and on those at rest. */
  chosen(request, free, held) {
    const { d, tol, T, mask } = request;
    const arrays = [...this.model(request), [free, free.length / d, d], [held, held.length / d, d]];
    const results = this.arraysOf('choose', arrays, [], 2, 2, 2, 2, 2, 2, 2, 2, 1);
    const [tokens, frozen, query, value, own, table, basis, spin, numbers] = results;
    const [verdict, accuracy, floor, directFloor, stretch, leading, ...rest] = numbers;
    const [rotates, attracts, drifts] = rest.map(Boolean);
    const [, , , phase, steps, longest, count, seconds, directSeconds, turning] = rest;
    const { verdicts, engines: { [d]: texts } } = this.shared.plan;
    const [method, reason] = verdicts[verdict];
    const columns = table.length / (count || 1);
    return {
      method,
      reason,
      sums: columns ? 'harmonic' : 'direct',
      engine: columns ? texts[1].replace('{}', columns) : texts[0],
      frame: { basis, spin, leading, rotates, attracts, drifts },
      direct: { floor: directFloor, seconds: directSeconds },
      effort: { seconds, turning },
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
        table: columns ? { rows: count, values: table } : null,
        accuracy,
        floor,
        stretch,
        rests: attracts,
        t_end: T,
        tol,
      },
    };
  }
}
