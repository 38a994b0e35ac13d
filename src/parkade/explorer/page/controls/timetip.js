// The card at a merge on the time line: what was seen of it, and what was forecast.

import { timeSpan } from '../draw/timeaxis.js';
import { byId, make, placeBeside } from '../dom.js';
import { short } from '../format.js';

const REACH = 6; // pixels from a merge to the pointer

export class TimeTip {
  /** `host` has scene() and view(). */
  constructor(canvas, host) {
    this.canvas = canvas;
    this.host = host;
    canvas.addEventListener('pointermove', (event) => this.show(event.buttons ? null : event));
    canvas.addEventListener('pointerleave', () => this.show(null));
    canvas.addEventListener('pointerdown', () => this.show(null));
  }

  show(event) {
    const tip = byId('time-tip');
    const scene = this.host.scene();
    tip.hidden = true;
    if (!event || !scene?.forecast || !scene.merges || !this.host.view().forecast) return;
    const box = this.canvas.getBoundingClientRect();
    const { left, right } = timeSpan({ x: 0, w: box.width });
    const away = ({ t }) => Math.abs(left + scene.moment(t) * (right - left) - (event.clientX - box.left));
    const merges = [...scene.merges, ...scene.forecast.merges];
    const nearest = merges.reduce((best, merge) => (away(merge) <= away(best) ? merge : best), merges[0]);
    if (!nearest || away(nearest) > REACH) return;
    const token = nearest.absorbed;
    const line = (what, merge) => `${what}: ${merge ? `joins ${scene.name(merge.into)} at t = ${short(merge.t)}` : 'no merge'}`;
    const of = (list) => list.find((merge) => merge.absorbed === token);
    tip.replaceChildren(
      make('b', { textContent: scene.name(token) }), make('br'),
      line('seen', of(scene.merges)), make('br'), line('forecast', of(scene.forecast.merges)),
    );
    tip.hidden = false;
    placeBeside(tip, event.clientX - box.left, box.width);
    tip.style.top = '14px';
  }
}
