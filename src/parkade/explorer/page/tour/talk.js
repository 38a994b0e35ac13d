// Presentations: the picture, the time line and large words, which a clicker moves on.
//
// The slides are the steps of the tour, or else the plateaus of the run. The link has talk=1.

import { byId } from '../dom.js';

const root = document.documentElement;
const WIDE = 16 / 9;
const USUAL = 1050; // pixels of width for which the drawings have their usual size

/** How much larger the drawings are than on the page. */
export function talkScale() {
  return root.dataset.talk ? Math.max(0.4, Math.min(innerWidth, innerHeight * WIDE) / USUAL) : 1;
}

const AHEAD = ['PageDown', 'ArrowRight', 'ArrowDown', 'Enter'];
const BACK = ['PageUp', 'ArrowLeft', 'ArrowUp'];

export class Talk {
  /** `host` has scene(), calm(), the timeline, the tour, and the callback changed(). */
  constructor(state, host) {
    this.state = state;
    this.host = host;
    byId('talk-open').addEventListener('click', () => {
      this.enter();
      root.requestFullscreen?.().catch(() => {}); // a browser may refuse
    });
    byId('talk-leave').addEventListener('click', () => this.leave());
    document.addEventListener('fullscreenchange', () => { if (!document.fullscreenElement) this.leave(); });
    // Before all others: a clicker's keys mean slides, wherever the focus is.
    document.addEventListener('keydown', (event) => this.key(event), true);
    byId('scene-panel').addEventListener('pointerup', (event) => {
      if (this.on) this.step(event.clientX < innerWidth / 4 ? -1 : 1);
    });
  }

  get on() { return root.dataset.talk !== undefined; }

  enter() {
    this.state.talk = true;
    root.dataset.talk = 'true';
    document.activeElement?.blur();
    this.host.changed();
  }

  leave() {
    if (!this.on) return;
    this.state.talk = false;
    delete root.dataset.talk;
    delete root.dataset.blank;
    if (document.fullscreenElement) document.exitFullscreen();
    this.host.changed();
    byId('talk-open').focus({ preventScroll: true });
  }

  /** Enter or leave the presentation, as the address says. */
  follow() {
    if (this.state.talk && !this.on) this.enter();
    else if (!this.state.talk) this.leave();
  }

  key(event) {
    if (!this.on || event.ctrlKey || event.metaKey || event.altKey) return;
    const leaving = event.target === byId('talk-leave') && ['Enter', ' '].includes(event.key);
    if (leaving || event.key === 'Tab') return;
    const action = AHEAD.includes(event.key) ? () => this.step(1)
      : BACK.includes(event.key) ? () => this.step(-1)
        : { '.': () => this.blank(), b: () => this.blank(), Escape: () => this.leave(), Home: () => this.end(-1), End: () => this.end(1) }[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (root.dataset.blank && event.key !== 'Escape') this.blank();
    else action();
  }

  /** A blank screen, until the next key. */
  blank() {
    if (root.dataset.blank) delete root.dataset.blank;
    else root.dataset.blank = 'true';
  }

  /** The next slide plays; if one is playing, it comes to its end. The slide before is there at once. */
  step(way) {
    const { tour, timeline } = this.host;
    if (timeline.playing && way > 0) {
      timeline.jump(timeline.until);
      return;
    }
    if (tour.on) {
      tour.go(this.state.tour + way);
      return;
    }
    const scene = this.host.scene();
    if (!scene) return;
    const { u } = this.state.view;
    const stops = [0, ...(scene.plateaus ?? []).map(({ start }) => scene.moment(start)), 1];
    const near = 1e-4;
    if (way < 0) timeline.jump(stops.findLast((stop) => stop < u - near) ?? 0);
    else {
      const next = stops.find((stop) => stop > u + near) ?? 1;
      if (this.host.calm()) timeline.jump(next);
      else timeline.play(next);
    }
  }

  /** The first slide, or the last. */
  end(way) {
    const { tour, timeline } = this.host;
    if (tour.on) tour.go(way < 0 ? 1 : tour.steps.length);
    else timeline.jump(way < 0 ? 0 : 1);
  }
}
