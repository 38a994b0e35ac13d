// Turning, zooming and pointing in the picture, by mouse, pen, fingers and keys.

import { aboutAxis, composed } from '../draw/turn.js';

const NEAR = 14; // pixels within which a token counts as pointed at
const LEAST = 0.5;
const MOST = 200;

/** The token nearest to a point of the screen; those in front come first. */
export function tokenAt(places, x, y, near = NEAR) {
  let best = null;
  let least = Infinity;
  for (let k = 0; k < places.length / 3; k++) {
    const apart = Math.hypot(places[3 * k] - x, places[3 * k + 1] - y);
    // A token at the back has to be pointed at more exactly.
    const cost = apart + (places[3 * k + 2] < 0 ? near / 2 : 0) + k * 1e-6;
    if (cost < near && cost < least) { best = k; least = cost; }
  }
  return best;
}

export class Gestures {
  /** `host` has view(), scene(), places(), and the callbacks changed(), hovered(token, event), chosen(token), done(). */
  constructor(canvas, host) {
    this.canvas = canvas;
    this.host = host;
    this.pointers = new Map();
    this.moved = 0;
    canvas.addEventListener('pointerdown', (event) => this.down(event));
    canvas.addEventListener('pointermove', (event) => this.move(event));
    for (const type of ['pointerup', 'pointercancel']) canvas.addEventListener(type, (event) => this.up(event));
    canvas.addEventListener('pointerleave', () => host.hovered(null, null));
    canvas.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    canvas.addEventListener('keydown', (event) => this.key(event));
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  down(event) {
    if (!this.host.scene()) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, this.point(event));
    if (this.pointers.size === 1) this.moved = 0;
  }

  move(event) {
    const at = this.point(event);
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      if (event.pointerType !== 'touch') this.hover(at, event);
      return;
    }
    const [dx, dy] = [at[0] - before[0], at[1] - before[1]];
    this.moved += Math.hypot(dx, dy);
    if (this.moved < 4) return;
    this.canvas.classList.add('turning');
    this.host.hovered(null, null);
    if (this.pointers.size === 1) {
      if (event.shiftKey) this.pan(dx, dy);
      else this.turn(before, at);
    } else this.pinch(event.pointerId, before, at);
    this.pointers.set(event.pointerId, at);
    this.host.changed();
  }

  up(event) {
    if (!this.pointers.delete(event.pointerId)) return;
    this.canvas.classList.remove('turning');
    if (this.moved < 4 && event.type === 'pointerup') {
      this.host.chosen(tokenAt(this.host.places(), ...this.point(event), event.pointerType === 'touch' ? 24 : NEAR));
    } else this.host.done();
  }

  hover(at, event) {
    const token = tokenAt(this.host.places(), ...at);
    this.canvas.classList.toggle('pointing', token !== null);
    this.host.hovered(token, event);
  }

  get size() { return Math.min(this.canvas.clientWidth, this.canvas.clientHeight); }

  middle() {
    const { pan } = this.host.view();
    return [this.canvas.clientWidth / 2 + pan[0] * this.size, this.canvas.clientHeight / 2 + pan[1] * this.size];
  }

  turn(before, at) {
    const view = this.host.view();
    if (this.host.scene().d === 2) {
      const [cx, cy] = this.middle();
      const angle = Math.atan2(before[1] - cy, before[0] - cx) - Math.atan2(at[1] - cy, at[0] - cx);
      view.turn = composed(aboutAxis(0, 0, 1, angle), this.now());
      return;
    }
    const rate = 1 / (0.44 * this.size * Math.max(1, view.zoom));
    this.roll((at[0] - before[0]) * rate, (at[1] - before[1]) * rate);
  }

  now() { return this.host.view().turn ?? this.host.scene().home; }

  roll(right, down) {
    const view = this.host.view();
    if (this.host.scene().d === 2) view.turn = composed(aboutAxis(0, 0, 1, -right - down), this.now());
    else view.turn = composed(composed(aboutAxis(0, 1, 0, right), aboutAxis(1, 0, 0, down)), this.now());
  }

  pan(dx, dy) {
    const view = this.host.view();
    view.pan = [view.pan[0] + dx / this.size, view.pan[1] + dy / this.size];
  }

  pinch(id, before, at) {
    const other = [...this.pointers].find(([key]) => key !== id)[1];
    const spread = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
    this.pan((at[0] - before[0]) / 2, (at[1] - before[1]) / 2);
    this.zoom(spread(at) / spread(before), (at[0] + other[0]) / 2, (at[1] + other[1]) / 2);
  }

  /** Zoom about a point of the screen, which stays where it is. */
  zoom(factor, x, y) {
    const view = this.host.view();
    const zoom = Math.min(MOST, Math.max(LEAST, view.zoom * factor));
    const [cx, cy] = this.middle();
    const grown = zoom / view.zoom;
    view.pan = [view.pan[0] + ((x - cx) * (1 - grown)) / this.size, view.pan[1] + ((y - cy) * (1 - grown)) / this.size];
    // When the whole picture is visible again, it moves back to the middle.
    if (zoom <= 1) view.pan = view.pan.map((c) => c * Math.max(0, (zoom - 0.5) * 2) * (grown < 1 ? 0.8 : 1));
    view.zoom = zoom;
  }

  wheel(event) {
    event.preventDefault();
    if (!this.host.scene()) return;
    const lines = event.deltaMode === 1 ? 20 : 1;
    this.zoom(Math.exp(-event.deltaY * lines * 0.0016), ...this.point(event));
    this.host.changed();
    this.host.done();
  }

  zoomMiddle(factor) {
    this.zoom(factor, this.canvas.clientWidth / 2, this.canvas.clientHeight / 2);
    this.host.changed();
    this.host.done();
  }

  key(event) {
    const step = event.shiftKey ? 0.35 : 0.09;
    const ways = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
    if (!ways[event.key] || !this.host.scene() || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.roll(...ways[event.key]);
    this.host.changed();
    this.host.done();
  }
}
