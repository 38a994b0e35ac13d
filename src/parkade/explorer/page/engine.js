// An engine in WebAssembly, compiled from the Python source of the native one (packaging/wasm). It
// imports nothing. Arrays go in and out through a table of 64-bit slots: packaging/wasm/entries.py.

const OUTPUT = 32;
const SLOTS = 256;
const ROOM = 64; // most steps of one call
const CHECKED = 8; // tokens whose harmonic sums are compared with direct ones
const CHECK_STEPS = 256; // steps between two comparisons

const SENTENCES = [
  null,
  'the run needs more memory than a page may use; choose fewer tokens',
  'this is a bug in parkade (a part that pages lack); please report it',
];

/** A run that cannot go on; the message is one sentence. */
export class Failure extends Error {}

/** Harmonic sums lost too much accuracy: run again with direct ones. */
export class Inaccurate extends Failure {}

/** The names of the functions that a problem needs. */
function kindOf({ method, causal, table }) {
  if (table) return 'harmonic';
  return method === 'implicit' && !causal ? 'full' : 'direct';
}

export class Engine {
  constructor(module) {
    this.calls = new WebAssembly.Instance(module).exports;
  }

  /** Bytes that the last run took. */
  get used() { return this.calls.used(); }

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

  /** Give back all memory, and make a table. */
  clear() {
    this.calls.clear();
    this.table = this.calls.reserve((SLOTS + 1) * 8) >>> 0;
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
    const slots = new BigInt64Array(this.calls.memory.buffer, this.table + 8 * OUTPUT, 16);
    let next = 0;
    return [1, 2, 1, 3, 4].map((rank) => {
      const [at, ...shape] = [...slots.subarray(next, next += 1 + rank)].map(Number);
      return { at, size: shape.reduce((a, b) => a * b, 1) };
    });
  }

  /** Numbers in the memory of the engine, as slots with their address and shape. */
  place(values, ...shape) {
    const at = this.guarded(() => this.calls.reserve(8 * values.length)) >>> 0;
    new Float64Array(this.calls.memory.buffer, at, values.length).set(values);
    return [at, ...shape].map(BigInt);
  }

  /** Fill the table. */
  enter(...parts) {
    new BigInt64Array(this.calls.memory.buffer, this.table, SLOTS).set(parts.flat());
  }

  /** A view of an array; growing memory ends it. */
  floats({ at, size }, count = size) {
    return new Float64Array(this.calls.memory.buffer, at, count);
  }

  /** Call a function on the table, and get its result of this type. */
  call(name, type, ...args) {
    const result = this.table + 8 * SLOTS;
    const status = this.guarded(() => this.calls[name](result, this.table, ...args));
    if (status > 0) throw new Failure('the engine cannot compute this; choose other settings');
    return type && new DataView(this.calls.memory.buffer)[`get${type}`](result, true);
  }

  /** The result of a call; a trap becomes a sentence. */
  guarded(call) {
    try {
      return call();
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError)) throw error;
      throw new Failure(SENTENCES[this.calls.failure()]
        ?? `this is a bug in parkade (${error.message}); please report it`);
    }
  }
}
