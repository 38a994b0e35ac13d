// An engine in WebAssembly, compiled from the Python source of the native one (packaging/wasm). Its
// functions and what they find in the table of slots: packaging/wasm/entries.py.

import { Failure, Memory } from './memory.js';

const OUTPUT = 32;
const ROOM = 64; // most steps of one call
const CHECKED = 8; // tokens whose harmonic sums are compared with direct ones
const CHECK_STEPS = 256; // steps between two comparisons

/** Harmonic sums lost too much accuracy: run again with direct ones. */
export class Inaccurate extends Failure {}

/** The names of the functions that a problem needs. */
function kindOf({ method, causal, table }) {
  if (table) return 'harmonic';
  return method === 'implicit' && !causal ? 'full' : 'direct';
}

export class Engine extends Memory {
  /**
   * Take all steps of a problem; an iterator over chunks of them.
   *
   * A problem has the fields of a System of the engine (`query`, `value`, `own_value`, `frozen`,
   * `frozen_weights`, `causal`, `table`, `accuracy`, `floor`, `stretch`), `method`, `d`, the `tokens`
   * in its frame, `t_end` and `tol`. Arrays are flat; `table` is { rows, values } or null. A chunk
   * has `times`, `tokens` and `dense`, flat too, and the `clock`.
   */
  * run(problem) {
    const { tokens, d, t_end: end, tol } = problem;
    const kind = kindOf(problem);
    const size = tokens.length;
    this.clear();
    const [clock, , times, states, dense] = this.begin(problem, kind);
    let checkAt = CHECK_STEPS;
    for (let steps = 0, t = 0; t < end;) {
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
      };
    }
  }

  /** The tokens at a fraction of a step from `start` to `end` with its `dense` arrays. */
  interpolate(theta, start, end, dense, d) {
    this.clear();
    const n = start.length / d;
    const out = this.place(new Float64Array(start.length), n, d);
    const step = [this.place(start, n, d), this.place(end, n, d)];
    this.enter(...step, this.place(dense, dense.length / start.length, n, d), out);
    this.call('interpolate', null, theta);
    return this.floats({ at: Number(out[0]), size: start.length }).slice();
  }

  /** Hand over a problem; where the clock, tokens and steps are from then on. */
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
      [BigInt(ROOM)],
    );
    this.call(`begin_${kind}`, null);
    return this.found(OUTPUT, 1, 2, 1, 3, 4);
  }
}
