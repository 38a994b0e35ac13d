// Undo and redo. The steps are entries of the browser's history, so back and forward work too.

import { byId } from '../dom.js';

const REST = 250; // milliseconds after which a view that moved is written into the address

export class Undo {
  /** `onMove` is called when another step has become the address. */
  constructor(state, onMove) {
    this.state = state;
    this.index = history.state?.parkade ?? 0;
    this.timer = null;
    this.moving = false; // asked the browser for another step, which takes it a moment
    window.addEventListener('popstate', (event) => {
      this.moving = false;
      if (event.state) this.index = event.state.parkade;
      else this.number(); // a new address
      this.stopTimer();
      onMove();
      this.showButtons();
    });
    this.number();
    this.showButtons();
  }

  /** Let the browser's entry have the number of its step; there are none behind it. */
  number() {
    this.last = this.index;
    this.write('replaceState', location.hash);
  }

  /** A new step, which undo takes back. */
  commit(link = null) {
    this.stopTimer();
    this.state.settled = this.state.settings;
    const next = link ?? this.state.link();
    if (next !== location.hash) {
      this.index += 1;
      this.last = this.index;
      this.write('pushState', next);
    }
    this.showButtons();
  }

  /** Only the view has changed: the address follows when it has come to rest. */
  remember() {
    this.stopTimer();
    this.timer = setTimeout(() => this.rememberNow(), REST);
  }

  rememberNow() {
    this.stopTimer();
    this.write('replaceState', this.state.link());
  }

  stopTimer() { clearTimeout(this.timer); }

  write(method, link) {
    try {
      history[method]({ parkade: this.index }, '', link || location.pathname + location.search);
    } catch {
      // The frame of a notebook has no address of its own, and so no undo.
      this.index = 0;
    }
  }

  get canUndo() { return this.index > 0; }
  get canRedo() { return this.index < this.last; }
  undo() { if (this.canUndo) this.move(-1); }
  redo() { if (this.canRedo) this.move(1); }

  move(steps) {
    this.moving = true;
    history.go(steps);
  }

  showButtons() {
    byId('undo').disabled = !this.canUndo;
    byId('redo').disabled = !this.canRedo;
  }
}
