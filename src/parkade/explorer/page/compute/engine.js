// An engine in WebAssembly, compiled from the Python source of the native one (packaging/wasm). Its
// functions and what they find in the table of slots: packaging/wasm/entries.py, and fields.py there
// for transformers.

import { Failure, Memory } from './slots.js';

const ROOM = 64; // most steps of one call

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
   * in its frame, `t_end` and `tol`, and `rests`: whether tokens may rest on earlier ones. Arrays are
   * flat; `table` is { rows, values } or null. Infinite numbers are null.
   *
   * The problem of a transformer has a `field` instead, with the fields of a Field; arrays are
   * { shape, values }. Its tokens have `columns`: d, or one more for ln r. With noise it has `noise`:
   * { scale, common, root, key, wanted, step }, and no token rests.
   *
   * Several models one after the other are `pieces`, each a problem, in anything that can be iterated.
   * The `times` of a piece are what its clock shows at first, and when it begins and ends; its tokens
   * are those that the previous piece ends with.
   *
   * A chunk has `times`, `tokens` and `dense`, flat too, the number of steps `rejected` so far, the
   * `clock` of the present model and its `span` of time, and `trusted`: until when to trust the run.
   * It has no more steps than `most()` says.
   */
  * run(problem, most = () => ROOM) {
    const { rejected: rejections, trusted: trust } = this.shared.engine;
    let [before, rejected, trusted] = [null, 0, Infinity];
    for (const piece of problem.pieces ?? [problem]) {
      const [first, ...span] = piece.times ?? [0, 0, piece.t_end];
      let last;
      for (const chunk of this.follow(piece, before, most)) {
        last = {
          ...chunk,
          span,
          rejected: rejected + chunk.clock[rejections],
          trusted: Math.min(trusted, span[0] + (chunk.clock[trust] - first)),
        };
        yield last;
      }
      ({ rejected, trusted } = last);
      before = this.left(piece, last);
    }
  }

  /** The steps of one model; it may follow another one, which ended with `before`. */
  * follow(problem, before, most) {
    const { time, checked, check_steps: checkSteps } = this.shared.engine;
    const { d, columns = d, t_end: end, tol } = problem;
    const kind = kindOf(problem);
    this.clear();
    const start = before ? { ...problem, tokens: before.tokens } : problem;
    const size = start.tokens.length;
    this.at = kind === 'field' ? this.beginField(start) : this.begin(start, kind);
    const [clock, , times, states, dense] = this.at;
    if (before && !problem.noise) this.resume(before, kind);
    let checkAt = checkSteps;
    for (let steps = 0, t = this.floats(clock)[time]; t < end;) {
      const taken = this.call(`advance_${kind}`, 'Int32', end, tol, Math.min(ROOM, most()));
      t = this.floats(clock)[time];
      if (taken < 0) {
        throw new Failure(`the steps became too short at t=${t.toPrecision(3)}; choose a smaller T`);
      }
      steps += taken;
      if (kind === 'harmonic' && (steps >= checkAt || t >= end)) {
        checkAt = steps + checkSteps;
        const excess = this.call('excess_harmonic', 'Float64', checked);
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

  /** Hand over a problem; returns where the clock, the tokens, the steps and the notes on rounding are. */
  begin(problem, kind) {
    const { d, tokens, frozen, frozen_weights: weights, table } = problem;
    const { query, value, own_value: own, causal, accuracy, floor, rests } = problem;
    const stretch = problem.stretch ?? Infinity;
    this.enter(
      this.place(tokens, tokens.length / d, d),
      this.place(frozen, frozen.length / d, d),
      this.place(weights, weights.length),
      this.place([...query, ...value, ...own], 3, d, d),
      table ? this.place(table.values, table.rows, table.values.length / table.rows) : [0n, 0n, 0n],
      this.place([Number(causal), accuracy, floor, stretch, Number(Boolean(rests))], 5),
      this.times(problem),
      [BigInt(ROOM)],
    );
    this.call(`begin_${kind}`, null);
    return this.arraysAt(this.shared.engine.output, 1, 2, 1, 3, 4, 2);
  }

  /** The same for a transformer. */
  beginField(problem) {
    const { tokens, d, columns = d, field, noise, rests } = problem;
    const last = noise ? [
      slot(noise.scale), BigInt(noise.common), slot(noise.root),
      ...this.place(new Float64Array(BigUint64Array.from(noise.key, BigInt).buffer), 2),
      ...this.place(noise.wanted, noise.wanted.length), slot(noise.step),
    ] : [BigInt(Boolean(rests))];
    this.enter(
      this.place(tokens, tokens.length / columns, columns),
      this.times(problem),
      [BigInt(ROOM)],
      ...this.shared.engine.field.map((name) => this.part(name, field[name])),
      last,
    );
    this.call('begin_field', null);
    return this.arraysAt(this.shared.engine.field_output, 1, 2, 1, 3, 4, 2);
  }

  /** A part of a Field, as slots. */
  part(name, value) {
    if (value?.values) return this.place(value.values, ...value.shape);
    const { whole, everything } = this.shared.engine;
    return [whole.includes(name) ? BigInt(value ?? everything) : slot(value ?? Infinity)];
  }

  /** When a model begins and ends, as slots. */
  times({ times, t_end: end }) { return this.place(times ?? [0, 0, end], 3); }

  /** The end of a model, from which the next one goes on. */
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

  /** Go on from the end of the previous model, besides its tokens. */
  resume({ clock, watch, n, matrices }, kind) {
    this.enter(
      this.place(clock, clock.length),
      this.place(watch, n, watch.length / n),
      ...matrices.map(({ values, shape }) => this.place(values, ...shape)),
    );
    this.call(`resume_${kind}`, null);
  }
}
