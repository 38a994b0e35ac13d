// The page itself as the source of scenes: Workers with engines in WebAssembly. See server.js for what a source is.

import { WorkerPool } from './workers.js';
import { Refusal } from '../refusal.js';
import { formulaOf } from '../panels/texts.js';

export class Local {
  warms = false;

  /** `carried` has the files inside the page (carried.js). */
  constructor(carried) {
    this.carried = carried;
    this.modules = new Map(); // Promises by name
    this.pool = new WorkerPool(() => this.start());
  }

  async answers() { return true; }

  /** Bytes of memory that the engines of each Worker have. */
  get memory() { return this.pool.memory; }

  get formats() { return this.carried.formats; }

  file(...what) { return this.carried.file(...what); }

  /** What Python says of settings and engines: explorer/standalone/contents.py. */
  get knowledge() {
    this.known ??= this.carried.json('knowledge.json');
    return this.known;
  }

  async schema() {
    const { fields, formula } = await this.knowledge;
    const usual = Object.fromEntries(fields.map((field) => [field.name, field.default]));
    return { fields, equation: formulaOf(usual, fields, formula) };
  }

  presets() { return this.carried.json('presets.json'); }

  has(name) { return this.carried.has(name); }

  recorded(name) { return this.carried.recorded(name); }

  scene(settings, listener) { return this.compute('scene', settings, listener); }

  stairs(settings, signal) { return this.compute('stairs', settings, { signal, onProgress() {}, onNote() {} }); }

  /** Be ready for a run with these settings. */
  async warm({ d }) {
    // The first run reports what goes wrong.
    await Promise.allSettled([this.enginesFor(d), this.pool.ready()]);
  }

  async compute(kind, settings, listener) {
    let result;
    try {
      const engines = await this.enginesFor(settings.d);
      listener.signal.throwIfAborted();
      result = await this.pool.run({ kind, settings, engines }, listener);
    } catch (error) {
      if (error.name === 'AbortError') throw error;
      throw new Refusal({ error: `The engine could not be loaded (${error.message}). Reload the page.` });
    }
    if (result.error) throw new Refusal(result);
    return result.scene;
  }

  /** The compiled engines for a dimension; none if there are none. */
  async enginesFor(d) {
    const { engines } = await this.knowledge;
    const names = engines[d] ?? [];
    const modules = await Promise.all(names.map((name) => this.engine(name)));
    return Object.fromEntries(names.map((name, i) => [name, modules[i]]));
  }

  engine(name) {
    if (!this.modules.has(name)) {
      const compiled = this.carried.bytes(`engines/${name}.wasm`).then((bytes) => WebAssembly.compile(bytes));
      this.modules.set(name, compiled);
      compiled.catch(() => this.modules.delete(name)); // to be tried again
    }
    return this.modules.get(name);
  }

  /** A new Worker that knows what settings are. */
  async start() {
    const [script, knowledge] = await Promise.all([this.carried.bytes('worker.js'), this.knowledge]);
    const address = URL.createObjectURL(new Blob([script], { type: 'text/javascript' }));
    const worker = new Worker(address);
    URL.revokeObjectURL(address);
    worker.postMessage({ knowledge });
    return worker;
  }
}
