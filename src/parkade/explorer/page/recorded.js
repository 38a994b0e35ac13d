// Recorded scenes: those a file carries, or those of the server.

import { Scene } from './scene.js';
import { fetchRecorded } from './server.js';

export class Recorded {
  /** `carried` are elements with the data of scenes; null if there is a server to ask. */
  constructor(carried) {
    this.carried = carried && new Map(carried.map((element) => [element.dataset.recorded, element]));
    this.scenes = new Map(); // Promises by name
  }

  has(name) { return !this.carried || this.carried.has(name); }

  /** The Promise of a scene, which is unpacked once. */
  get(name) {
    if (!this.scenes.has(name)) {
      const data = this.carried ? Promise.resolve(JSON.parse(this.carried.get(name).textContent)) : fetchRecorded(name);
      this.scenes.set(name, data.then((found) => new Scene(found)));
      this.scenes.get(name).catch(() => this.scenes.delete(name)); // to be asked for again
    }
    return this.scenes.get(name);
  }
}
