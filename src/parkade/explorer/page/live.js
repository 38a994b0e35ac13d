// What only a page with a server has: controls and presets that start runs.

import { Controls } from './controls.js';
import { say } from './present.js';
import { Presets } from './presets.js';
import { Runner } from './runner.js';
import { Scene } from './scene.js';

const HURRY = 120; // milliseconds between two runs while a slider moves
const root = document.documentElement;

export class Live {
  /** `host` pauses with pause(), takes steps with commit(link), and shows scenes with present(scene, play). */
  constructor(state, progress, host) {
    this.state = state;
    this.host = host;
    this.timer = null;
    this.loading = null; // Promise of the menu of presets, until it is there
    this.controls = new Controls(state.fields, state.settings, (next, done) => this.change(next, done));
    this.presets = new Presets(state, (settings) => this.takePreset(settings));
    this.runner = new Runner(progress, {
      begun() { root.dataset.state = 'computing'; },
      arrived: (data, { play, shown }) => {
        this.controls.complain(null);
        if (shown) root.dataset.state = 'ready';
        else host.present(new Scene(data), play);
      },
      refused: (error) => {
        root.dataset.state = 'error';
        this.controls.complain(error.message, error.field);
        if (!error.field || !state.show) say(error.message);
      },
    });
  }

  /**
   * Begin with the run of the address, or with `life`, the recorded one on which an address that
   * names nothing opens: it is there at once. Its run, which may have to wait for a compiler, makes the next ones fast.
   */
  start(life) {
    this.loading = this.presets.load().finally(() => { this.loading = null; });
    if (life) {
      this.state.open(life.settings);
      this.controls.show(this.state.settings);
      this.presets.show();
      this.host.present(new Scene(life), false);
    }
    this.compute({ shown: life !== null });
  }

  /** Whether a run is under way or about to begin, or the menu of presets is on its way. */
  get busy() { return this.runner.busy || this.timer !== null || this.loading !== null; }

  /** New settings from the controls; while a slider moves, a run begins now and then. */
  change(next, done) {
    const { state } = this;
    const other = state.fields.some(({ name, resets_view: resets }) => resets && next[name] !== state.settings[name]);
    if (other) state.resetView();
    state.settings = next;
    this.presets.show();
    if (done) {
      this.host.commit();
      this.compute();
    } else this.timer ??= setTimeout(() => this.compute(), HURRY);
  }

  compute(options) {
    clearTimeout(this.timer);
    this.timer = null;
    this.runner.start(this.state.settings, options);
  }

  takePreset(settings) {
    const { state } = this;
    this.host.pause();
    state.settings = settings;
    state.resetView();
    state.view.token = null;
    this.controls.show(settings);
    this.presets.show();
    // Its scene has not arrived: the link has no time yet.
    this.host.commit(state.linkWithoutTime());
    this.compute({ play: true, again: true });
  }

  /** Undo or redo has changed the settings; `shown` if their scene is on the screen. */
  restored(shown) {
    if (shown) this.runner.cancel();
    this.controls.show(this.state.settings);
    this.controls.complain(null);
    this.presets.show();
    if (!shown) this.compute();
  }

  cancel() {
    this.runner.cancel();
    root.dataset.state = this.state.show ? 'ready' : 'error';
  }
}
