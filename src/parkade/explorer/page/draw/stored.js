// Attention weights of a trained model, which are stored: for each layer and head, roots in steps of 1/255.

import { sight } from './weights.js';

export class StoredWeights {
  constructor({ n, mask, count, attention, frameOf }, roots) {
    Object.assign(this, { n, frameOf });
    this.sees = sight(mask);
    this.roots = new Uint8Array(roots); // L × H × n × n
    this.count = attention.heads;
    this.layers = count - 1;
    this.head = null; // the mean of all
  }

  get known() { return this.layers > 0; }

  /** The layer whose attention moves tokens that were asked for. */
  layer(tokens) { return Math.min(this.frameOf.get(tokens) ?? 0, this.layers - 1); }

  /** The weights of row k in the layer of `tokens`, into `row`: of a head, or the mean of all. */
  row(tokens, k, row) {
    const { n, count, roots } = this;
    const heads = this.head === null ? [...Array(count).keys()] : [this.head];
    row.fill(0);
    for (const head of heads) {
      const start = ((this.layer(tokens) * count + head) * n + k) * n;
      for (let j = 0; j < n; j++) row[j] += (roots[start + j] / 255) ** 2 / heads.length;
    }
    return row;
  }
}
