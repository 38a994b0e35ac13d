// Runs on the server, one at a time: a new one ends the one before.

import { Refusal, fetchScene } from './server.js';

export class Runner {
  /** Hears begun(), arrived(data, options), refused(error), ended(). */
  constructor(progress, host) {
    this.progress = progress;
    this.host = host;
    this.run = null; // AbortController of the run under way
    this.done = ''; // settings that were computed last, or are being computed
  }

  get busy() { return this.run !== null; }

  async start(settings, options = {}) {
    const wanted = JSON.stringify(settings);
    if (wanted === this.done && !options.again) return;
    this.done = wanted;
    this.run?.abort();
    const mine = new AbortController();
    this.run = mine;
    this.host.begun();
    this.progress.begin('computing…', true);
    try {
      const data = await fetchScene(settings, {
        signal: mine.signal,
        onProgress: (share) => this.run === mine && this.progress.tell(share),
        onNote: (note) => this.run === mine && this.progress.note(note),
      });
      if (this.run === mine) this.host.arrived(data, options);
    } catch (error) {
      if (this.run !== mine) return;
      this.done = '';
      if (!(error instanceof Refusal)) throw error;
      this.host.refused(error);
    } finally {
      if (this.run === mine) {
        this.run = null;
        this.progress.end();
      }
    }
  }

  cancel() {
    const mine = this.run;
    this.run = null;
    this.done = '';
    mine?.abort();
    this.progress.end();
  }
}
