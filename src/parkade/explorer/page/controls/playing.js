// The time line: moving in time by pointer and keys, playing, hopping from merge to merge.

import { timeSpan } from '../draw/timeaxis.js';

const SECONDS = 14; // a whole run at speed 1, and a bit more for each decade
const PER_DECADE = 0.2;

export class Timeline {
  /** `host` has view(), scene(), names(), and the callbacks changed(), done(), playing(flag). */
  constructor(canvas, host) {
    this.canvas = canvas;
    this.host = host;
    this.playing = false;
    this.speed = 1;
    canvas.addEventListener('pointerdown', (event) => {
      if (!host.scene()) return;
      this.pause();
      const name = this.nameAt(event);
      if (name) {
        this.jump(host.scene().moment(name.start));
        return;
      }
      canvas.setPointerCapture(event.pointerId);
      this.held = true;
      this.scrub(event);
    });
    canvas.addEventListener('pointermove', (event) => {
      if (this.held) this.scrub(event);
      canvas.classList.toggle('pointing', !this.held && Boolean(this.nameAt(event)));
    });
    for (const type of ['pointerup', 'pointercancel']) {
      canvas.addEventListener(type, () => { if (this.held) { this.held = false; host.done(); } });
    }
    canvas.addEventListener('keydown', (event) => this.key(event));
  }

  /** The name of a plateau under the pointer: a click goes to where the plateau begins. */
  nameAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    return this.host.names().find((name) => x >= name.x && x <= name.x + name.width && y <= name.y && y >= name.y - 15);
  }

  scrub(event) {
    const box = this.canvas.getBoundingClientRect();
    const { left, right } = timeSpan({ x: 0, w: box.width });
    this.go((event.clientX - box.left - left) / (right - left));
  }

  go(u) {
    this.host.view().u = Math.min(1, Math.max(0, u));
    this.host.changed();
  }

  /** Go somewhere by key or button, and stop playing. */
  jump(u) {
    this.pause();
    this.go(u);
    this.host.done();
  }

  frame(step) {
    const scene = this.host.scene();
    const { frame, part } = scene.frameAt(this.host.view().u);
    const at = step > 0 ? frame + 1 : part > 1e-9 ? frame : frame - 1;
    this.jump(scene.moments[Math.min(scene.count - 1, Math.max(0, at))]);
  }

  /** To the next or previous merge, or the end of the run. */
  hop(step) {
    const scene = this.host.scene();
    const { u } = this.host.view();
    const stops = [0, ...scene.arrivals.map((t) => scene.moment(t)), 1];
    const margin = 0.002;
    const stop = step > 0 ? stops.find((s) => s > u + margin) : stops.reverse().find((s) => s < u - margin);
    this.jump(stop ?? (step > 0 ? 1 : 0));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.host.scene()) return;
    const step = event.shiftKey ? 0.05 : 0.01;
    const { u } = this.host.view();
    const ways = {
      ArrowRight: () => this.jump(u + step), ArrowUp: () => this.jump(u + step),
      ArrowLeft: () => this.jump(u - step), ArrowDown: () => this.jump(u - step),
      PageUp: () => this.hop(1), PageDown: () => this.hop(-1),
      Home: () => this.jump(0), End: () => this.jump(1),
    };
    if (!ways[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    ways[event.key]();
  }

  /** Play to the end, or until a moment. */
  play(until = 1) {
    const scene = this.host.scene();
    if (!scene || this.playing) return;
    this.until = until;
    if (this.host.view().u >= 1) this.host.view().u = 0;
    this.playing = true;
    this.host.playing(true);
    this.clock = scene.clock(this.host.view().u);
    this.last = null;
    requestAnimationFrame((now) => this.tick(now));
  }

  pause() {
    if (!this.playing) return;
    this.playing = false;
    this.host.playing(false);
    this.host.done();
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  static seconds(scene) { return SECONDS + PER_DECADE * scene.decades; }

  tick(now) {
    if (!this.playing) return;
    const scene = this.host.scene();
    // A tab in the background continues where it was.
    const passed = this.last === null ? 0 : Math.min(100, now - this.last) / 1000;
    this.last = now;
    this.clock += (passed * this.speed) / Timeline.seconds(scene);
    this.go(Math.min(this.until, scene.momentOfClock(this.clock)));
    if (this.clock >= 1 || this.host.view().u >= this.until) this.pause();
    else requestAnimationFrame((later) => this.tick(later));
  }

  /** The scene is another one, and so is the clock of its animation. */
  renew() {
    if (this.playing) this.clock = this.host.scene().clock(this.host.view().u);
  }
}
