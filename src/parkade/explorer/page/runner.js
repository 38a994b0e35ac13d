// Runs on the server, one at a time: a new run cancels the one before.

import { Refusal, fetchScene } from './server.js';

export class Runner {
  /** `host` hears begun(), arrived(data, options), refused(error). */
  constructor(progress, host) {
    this.progress = progress;
    this.host = host;
    this.run = null; // AbortController of the run under way
    this.latest = ''; // settings that were computed last, or are being computed
  }

  get busy() { return this.run !== null; }

  async start(settings, options = {}) {
    const wanted = JSON.stringify(settings);
    if (wanted === this.latest && !options.again) return;
    this.latest = wanted;
    this.run?.abort();
    const mine = new AbortController();
    this.run = mine;
    this.host.begun();
    this.progress.begin('computing…', !options.shown);
    try {
      const data = await fetchScene(settings, {
        signal: mine.signal,
        onProgress: (share) => this.run === mine && this.progress.tell(share),
        onNote: (note) => this.run === mine && this.progress.note(note),
      });
      if (this.run === mine) this.host.arrived(data, options);
    } catch (error) {
      if (this.run !== mine) return;
      this.latest = '';
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
    this.latest = '';
    mine?.abort();
    this.progress.end();
  }
}
