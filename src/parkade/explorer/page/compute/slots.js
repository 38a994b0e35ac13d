// The memory of a module in WebAssembly that packaging/wasm makes. Arrays go in and out through a table
// of 64-bit slots: packaging/wasm/slots.py. The modules import nothing.

const SENTENCES = [
  null,
  'the run needs more memory than a page may use; choose fewer tokens',
  'this is a bug in parkade (a part that pages lack); please report it',
];

/** A computation that cannot go on; the message is one sentence. */
export class Failure extends Error {}

export class Memory {
  /** `shared` is what Python says of engines: explorer/standalone/shared.py. */
  constructor(module, shared) {
    this.calls = new WebAssembly.Instance(module).exports;
    this.shared = shared;
  }

  /** Bytes in use. */
  get used() { return this.calls.used(); }

  /** Give back all memory, and make a table. */
  clear() {
    this.calls.clear();
    this.table = this.calls.reserve((this.shared.slots + 1) * 8) >>> 0;
  }

  /** Numbers in the memory, as slots with their address and shape. */
  place(values, ...shape) {
    const at = this.guarded(() => this.calls.reserve(8 * values.length)) >>> 0;
    new Float64Array(this.calls.memory.buffer, at, values.length).set(values);
    return [at, ...shape].map(BigInt);
  }

  /** All slots. */
  get slots() { return new BigInt64Array(this.calls.memory.buffer, this.table, this.shared.slots); }

  /** Fill the table. */
  enter(...parts) { this.slots.set(parts.flat()); }

  /** Arrays that are in the table from a slot on, with a number of dimensions each. */
  arraysAt(first, ...ranks) {
    const { slots } = this;
    return ranks.map((rank) => {
      const [at, ...shape] = [...slots.subarray(first, first += 1 + rank)].map(Number);
      return { at, size: shape.reduce((a, b) => a * b, 1) };
    });
  }

  /** A view of an array; growing memory ends it. */
  floats({ at, size }, count = size) {
    return new Float64Array(this.calls.memory.buffer, at, count);
  }

  /** Call a function on the table, and get its result of this type. */
  call(name, type, ...args) {
    const result = this.table + 8 * this.shared.slots;
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
