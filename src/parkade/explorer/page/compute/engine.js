// An engine in WebAssembly, compiled from the Python source of the native one (packaging/wasm). Its
// functions and what they find in the table of slots: packaging/wasm/entries.py, and fields.py there
// for transformers.

import { Failure, Memory } from './slots.js';

const OUTPUT = { field: 72, other: 32 };
const ROOM = 64; // most steps of one call
const CHECKED = 8; // tokens whose harmonic sums are compared with direct ones
const CHECK_STEPS = 256; // steps between two comparisons
const [TIME, REJECTED, TRUSTED] = [0, 4, 6]; // places in the clock of the engine

// The fields of a Field of the engine, in its order. These are whole numbers:
const WHOLE = ['activation', 'norm', 'window', 'prefix', 'causal'];
const FIELD = [
  'queries', 'keys', 'reach', 'values', 'outputs', 'own_value', 'leading', 'slopes', 'turns',
  'inner', 'inner_bias', 'outer', 'outer_bias', 'activation', 'norm', 'alpha', 'window', 'prefix',
  'causal', 'origin', 'now', 'query', 'value', 'accuracy', 'floor', 'stretch',
];
const EVERYTHING = 2n ** 62n; // a window or a prefix that never ends

/** Harmonic sums lost too much accuracy: run again with direct ones. */
export class Inaccurate extends Failure {}

/** The name of the module that runs a problem; pieces of transformers say so by `parts`. */
export function moduleOf({ method, d, field, parts }) {
  return field || parts ? `${method}field` : `${method}${d}`;
}

/** The names of the functions that a problem needs. */
function kindOf({ method, causal, table, field }) {
  if (field) return 'field';
  if (table) return 'harmonic';
  return method === 'implicit' && !causal ? 'full' : 'direct';
}

/** A number as a slot. */
function slot(number) {
  return new BigInt64Array(Float64Array.of(number).buffer)[0];
}

export class Engine extends Memory {
  /**
   * Take all steps of a problem; an iterator over chunks of them.
   *
   * A problem has the fields of a System of the engine (`query`, `value`, `own_value`, `frozen`,
   * `frozen_weights`, `causal`, `table`, `accuracy`, `floor`, `stretch`), `method`, `d`, the `tokens`
   * in its frame, `t_end` and `tol`. Arrays are flat; `table` is { rows, values } or null. Infinite
   * numbers are null.
   *
   * The problem of a transformer has a `field` instead, with the fields of a Field; arrays are
   * { shape, values }. Its tokens have `columns`: d, or one more for ln r. With noise it has `noise`:
   * { scale, common, root, key, wanted, step }.
   *
   * Several models one after the other are `pieces`, each a problem, in anything that can be iterated. Its `times` are what its clock
   * shows at first, and when it begins and ends; its tokens are those that the one before has left.
   *
   * A chunk has `times`, `tokens` and `dense`, flat too, how many steps were `rejected` so far, the
   * `clock` of the present model, and at the end of each `trusted`: until when to trust the run.
   */
  * run(problem) {
    let before = null;
    let rejected = 0;
    let trusted = Infinity;
    for (const piece of problem.pieces ?? [problem]) {
      let last = null;
      for (const chunk of this.follow(piece, before)) {
        if (last) yield last;
        last = chunk;
        last.rejected = rejected + last.clock[REJECTED];
      }
      const [first, start] = piece.times ?? [0, 0];
      trusted = Math.min(trusted, start + (last.clock[TRUSTED] - first));
      ({ rejected } = last);
      before = this.left(piece, last);
      yield { ...last, trusted };
    }
  }

  /** The steps of one model, after what another one has left, if any. */
  * follow(problem, before) {
    const { d, columns = d, t_end: end, tol } = problem;
    const kind = kindOf(problem);
    this.clear();
    const given = before ? { ...problem, tokens: before.tokens } : problem;
    const size = given.tokens.length;
    this.at = kind === 'field' ? this.beginField(given) : this.begin(given, kind);
    const [clock, , times, states, dense] = this.at;
    if (before && !problem.noise) this.resume(before, kind);
    let checkAt = CHECK_STEPS;
    for (let steps = 0, t = this.floats(clock)[TIME]; t < end;) {
      const taken = this.call(`advance_${kind}`, 'Int32', end, tol, ROOM);
      [t] = this.floats(clock);
      if (taken < 0) {
        throw new Failure(`the steps became too short at t=${t.toPrecision(3)}; choose a smaller T`);
      }
      steps += taken;
      if (kind === 'harmonic' && (steps >= checkAt || t >= end)) {
        checkAt = steps + CHECK_STEPS;
        const excess = this.call('excess_harmonic', 'Float64', CHECKED);
        if (!(excess <= 1)) throw new Inaccurate(`harmonic sums are inaccurate at t=${t}`);
      }
      yield {
        times: this.floats(times, taken).slice(),
        tokens: this.floats(states, taken * size).slice(),
        dense: this.floats(dense, taken * (dense.size / ROOM)).slice(),
        clock: this.floats(clock).slice(),
        d,
        columns,
      };
    }
  }

  /** The tokens at a fraction of a step from `start` to `end` with its `dense` arrays; and ln r. */
  interpolate(theta, start, end, dense, d, columns = d) {
    this.clear();
    const n = start.length / columns;
    const out = this.place(new Float64Array(start.length), n, columns);
    const step = [this.place(start, n, columns), this.place(end, n, columns)];
    this.enter(...step, this.place(dense, dense.length / start.length, n, columns), out);
    this.call('interpolate', null, theta, d);
    return this.floats({ at: Number(out[0]), size: start.length }).slice();
  }

  /** Hand over a problem; where the clock, tokens, steps and what is noted of rounding are. */
  begin(problem, kind) {
    const { d, tokens, frozen, frozen_weights: weights, table } = problem;
    const { query, value, own_value: own, causal, accuracy, floor } = problem;
    const stretch = problem.stretch ?? Infinity;
    this.enter(
      this.place(tokens, tokens.length / d, d),
      this.place(frozen, frozen.length / d, d),
      this.place(weights, weights.length),
      this.place([...query, ...value, ...own], 3, d, d),
      table ? this.place(table.values, table.rows, table.values.length / table.rows) : [0n, 0n, 0n],
      this.place([Number(causal), accuracy, floor, stretch], 4),
      this.times(problem),
      [BigInt(ROOM)],
    );
    this.call(`begin_${kind}`, null);
    return this.found(OUTPUT.other, 1, 2, 1, 3, 4, 2);
  }

  /** The same for a transformer. */
  beginField(problem) {
    const { tokens, d, columns = d, field, noise } = problem;
    const noisy = noise ? [
      slot(noise.scale), BigInt(noise.common), slot(noise.root),
      ...this.place(new Float64Array(BigUint64Array.from(noise.key, BigInt).buffer), 2),
      ...this.place(noise.wanted, noise.wanted.length), slot(noise.step),
    ] : [];
    this.enter(
      this.place(tokens, tokens.length / columns, columns),
      this.times(problem),
      [BigInt(ROOM)],
      ...FIELD.map((name) => this.part(name, field[name])),
      noisy,
    );
    this.call('begin_field', null);
    return this.found(OUTPUT.field, 1, 2, 1, 3, 4, 2);
  }

  /** A part of a Field, as slots. */
  part(name, value) {
    if (value?.values) return this.place(value.values, ...value.shape);
    return [WHOLE.includes(name) ? BigInt(value ?? EVERYTHING) : slot(value ?? Infinity)];
  }

  /** When a model begins and ends, as slots. */
  times({ times, t_end: end }) { return this.place(times ?? [0, 0, end], 3); }

  /** What a model leaves to the next one. */
  left(problem, { clock }) {
    const { d, columns = d } = problem;
    const [, tokens, , , , watch] = this.at;
    return {
      clock,
      tokens: this.floats(tokens).slice(),
      watch: this.floats(watch).slice(),
      n: tokens.size / columns,
      matrices: ['query', 'value', 'own_value'].map((name) => (problem.field
        ? problem.field[name] : { values: problem[name], shape: [problem.d, problem.d] })),
    };
  }

  /** Take over what the model before has left besides its tokens. */
  resume({ clock, watch, n, matrices }, kind) {
    this.enter(
      this.place(clock, clock.length),
      this.place(watch, n, watch.length / n),
      ...matrices.map(({ values, shape }) => this.place(values, ...shape)),
    );
    this.call(`resume_${kind}`, null);
  }
}
