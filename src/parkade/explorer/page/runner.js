// Runs, one at a time: a new run cancels the one before.

import { Refusal } from './refusal.js';

export class Runner {
  /** `source` computes; `host` has the callbacks begun(), arrived(data, options), refused(error) and ended(). */
  constructor(source, progress, host) {
    this.source = source;
    this.progress = progress;
    this.host = host;
    this.run = null; // AbortController of the run under way
    this.since = 0; // when it began
    this.latest = ''; // settings that were computed last, or are being computed
  }

  get busy() { return this.run !== null; }

  /** For how long the run under way has been computed, in milliseconds; 0 if there is none. */
  get age() { return this.busy ? performance.now() - this.since : 0; }

  async start(settings, options = {}) {
    const wanted = JSON.stringify(settings);
    if (wanted === this.latest && !options.again) return;
    this.latest = wanted;
    this.run?.abort();
    const mine = new AbortController();
    this.run = mine;
    this.since = performance.now();
    if (!options.shown) this.progress.begin(); // nobody waits for what is seen already, unless there is a note
    this.host.begun();
    let end = () => {};
    try {
      const data = await this.source.scene(settings, {
        signal: mine.signal,
        onProgress: (share) => this.run === mine && this.progress.update(share),
        onNote: (note) => this.run === mine && this.progress.note(note),
      });
      end = () => this.host.arrived(data, options);
    } catch (error) {
      if (this.run === mine) this.latest = '';
      end = () => {
        if (!(error instanceof Refusal)) throw error;
        this.host.refused(error);
      };
    }
    if (this.run !== mine) return;
    this.run = null;
    this.progress.end();
    try { end(); } finally { this.host.ended(); }
  }

  cancel() {
    const mine = this.run;
    this.run = null;
    this.latest = '';
    mine?.abort();
    this.progress.end();
  }
}
