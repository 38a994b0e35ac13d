// Recorded scenes, which are unpacked once.

import { Scene } from '../scene.js';

export class Recorded {
  /** `source` has the data of scenes by name. */
  constructor(source) {
    this.source = source;
    this.scenes = new Map(); // Promises by name
  }

  has(name) { return this.source.has(name); }

  /** The Promise of a scene. */
  get(name) {
    if (!this.scenes.has(name)) {
      this.scenes.set(name, this.source.recorded(name).then((data) => new Scene(data)));
      this.scenes.get(name).catch(() => this.scenes.delete(name)); // to be asked for again
    }
    return this.scenes.get(name);
  }
}
