// The attention matrix of the moment, as an image: row k shows which tokens token k attends to.

import { setStroke } from './marks.js';
import { heatTable } from './palette.js';

export class AttentionImage {
  constructor() {
    this.canvas = document.createElement('canvas');
    this.key = '';
  }

  /** Order of tokens along both sides. */
  static order(labels, grouped) {
    const order = [...labels.keys()];
    if (grouped) order.sort((a, b) => labels[a] - labels[b] || a - b);
    return order;
  }

  /** Compute the image for u, at most `most` pixels wide; cells are averaged to fit. */
  update(scene, u, grouped, most, theme) {
    const { n } = scene;
    const side = Math.min(n, Math.max(1, Math.floor(most)));
    const tokens = scene.tokensAt(u);
    const order = AttentionImage.order(scene.labelsAt(u), grouped);
    const sums = new Float32Array(side * side);
    const counts = new Float32Array(side);
    const row = new Float64Array(n);
    const cell = order.map((_, i) => Math.floor((i * side) / n));
    cell.forEach((c) => { counts[c]++; });
    order.forEach((k, i) => {
      scene.attentionRow(tokens, k, row);
      const start = cell[i] * side;
      order.forEach((j, at) => { sums[start + cell[at]] += row[j]; });
    });
    if (this.theme !== theme) {
      this.table = heatTable(theme);
      this.theme = theme;
    }
    this.canvas.width = side;
    this.canvas.height = side;
    const pen = this.canvas.getContext('2d');
    const image = pen.createImageData(side, side);
    // More tokens have smaller weights; a power below one keeps small weights visible.
    const dark = Math.min(1, 20 / n);
    for (let i = 0; i < side; i++) {
      for (let j = 0; j < side; j++) {
        const share = sums[i * side + j] / (counts[i] * counts[j]);
        const [r, g, b] = this.table[Math.min(255, Math.round(255 * (share / dark) ** 0.4))];
        image.data.set([r, g, b, 255], 4 * (i * side + j));
      }
    }
    pen.putImageData(image, 0, 0);
    this.orderNow = order;
  }

  draw(pen, box, scene, view, theme) {
    pen.imageSmoothingEnabled = false;
    pen.drawImage(this.canvas, box.x, box.y, box.w, box.h);
    setStroke(pen, theme.line, 1);
    pen.strokeRect(box.x + 0.5, box.y + 0.5, box.w - 1, box.h - 1);
    const token = view.hover ?? view.token;
    if (token === null || token >= scene.n) return;
    const at = this.orderNow.indexOf(token);
    const size = box.w / scene.n;
    setStroke(pen, theme.accent, 1.5);
    const thick = Math.max(size, 2.5);
    pen.strokeRect(box.x + 0.75, box.y + at * size - (thick - size) / 2, box.w - 1.5, thick);
    pen.globalAlpha = 0.6;
    pen.strokeRect(box.x + at * size - (thick - size) / 2, box.y + 0.75, thick, box.h - 1.5);
    pen.globalAlpha = 1;
  }

  /** Tokens [k, j] of the row and the column at a point of the box. */
  pick(box, x, y, n) {
    const [i, j] = [y - box.y, x - box.x].map((c) => Math.floor((c / box.w) * n));
    if (i < 0 || j < 0 || i >= n || j >= n) return null;
    return [this.orderNow[i], this.orderNow[j]];
  }
}
