// The panel of the attention matrix: drawn when the moment changes, explained when pointed at.

import { byId, make } from '../dom.js';
import { AttentionImage } from '../draw/matrix.js';
import { percent } from '../format.js';

const square = ({ w, h }) => ({ x: 0, y: 0, w: Math.min(w, h), h: Math.min(w, h) });

export class AttentionPanel {
  /** `host` has scene(), view(), and the callbacks pointed(token) and chosen(token). */
  constructor(host) {
    this.host = host;
    this.image = new AttentionImage();
    this.key = '';
    this.made = 0;
    const canvas = byId('attention');
    canvas.addEventListener('pointermove', (event) => this.explain(this.pick(event)));
    canvas.addEventListener('pointerleave', () => this.explain(null));
    canvas.addEventListener('click', (event) => { const pair = this.pick(event); if (pair) host.chosen(pair[0]); });
    byId('head').addEventListener('change', ({ target: { value } }) => {
      host.scene().weights.head = value === '' ? null : Number(value);
      this.renew();
      host.changed();
    });
  }

  draw({ pen, box }, theme, playing) {
    const [scene, view] = [this.host.scene(), this.host.view()];
    const area = square(box);
    const side = Math.floor(area.w * (window.devicePixelRatio || 1));
    const key = `${view.u} ${view.group} ${side}`;
    // Many tokens have many pairs: while they move, the image may lag a little.
    const late = performance.now() - this.made < (scene.n > 150 ? 90 : 0) * (1 + scene.n / 500);
    if (this.key === '' || (key !== this.key && !(late && playing))) {
      this.image.update(scene, view.u, view.group, side, theme);
      this.key = key;
      this.made = performance.now();
    }
    this.image.draw(pen, area, scene, view, theme);
  }

  /** The scene or the theme is another one: the image has to be drawn again. */
  renew() {
    this.key = '';
    this.explain(null);
  }

  /** Offer the heads of stored weights; others are shown as their mean. */
  offerHeads(scene) {
    const stored = scene.attention;
    byId('head').hidden = !stored;
    if (!stored) return;
    const option = (value, textContent) => make('option', { value, textContent });
    byId('head').replaceChildren(
      option('', 'mean'),
      ...Array.from({ length: stored.heads }, (_, h) => option(String(h), `head ${h + 1}`)),
    );
  }

  pick(event) {
    if (!this.host.scene()?.hasAttention) return null;
    const box = event.target.getBoundingClientRect();
    const area = square({ w: box.width, h: box.height });
    return this.image.pick(area, event.clientX - box.left, event.clientY - box.top, this.host.scene().n);
  }

  /** Say in words what the cell [k, j] shows. */
  explain(pair) {
    const text = byId('attention-text');
    this.host.pointed(pair ? pair[0] : null);
    if (!pair) {
      const shade = document.documentElement.dataset.theme === 'dark' ? 'brighter' : 'darker';
      const k = () => make('i', { textContent: 'k' });
      const heads = this.host.scene()?.attention?.heads ?? this.host.scene()?.heads?.length ?? 1;
      const many = heads > 1 && byId('head').value === '' ? ', as the mean of its heads' : '';
      text.replaceChildren('Row ', k(), ': what token ', k(), ` attends to${many}; ${shade} is more.`);
      return;
    }
    const [k, j] = pair;
    const scene = this.host.scene();
    const weight = scene.attentionRow(scene.tokensAt(this.host.view().u), k, new Float64Array(scene.n))[j];
    const hidden = !scene.weights.sees(k, j) && !scene.frozenSet.has(j);
    text.textContent = scene.frozenSet.has(k) ? `${scene.name(k)} is frozen and attends to no token.`
      : hidden ? `${scene.name(j)} ${j > k ? 'comes after' : 'is too far before'} ${scene.name(k)}, which cannot attend to it.`
        : `${scene.name(k)} attends to ${scene.name(j)} by ${percent(weight)}.`;
  }
}
