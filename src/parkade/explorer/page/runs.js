// What only a page with a source of scenes has: controls and presets that start runs.

import { Controls } from './controls/controls.js';
import { byId } from './dom.js';
import { say } from './present.js';
import { Presets } from './controls/presets.js';
import { Runner } from './runner.js';
import { Scene } from './scene.js';

const HURRY = 120; // milliseconds between two runs while a slider moves
const ENOUGH = 800; // milliseconds after which a run gives way to a slider that has moved on
const AGAIN = 2000; // milliseconds between two questions to a server that was lost
const WARM = 300; // milliseconds that the first picture has for itself
const root = document.documentElement;

export class Live {
  /** `host` pauses with pause(), takes steps with commit(link), and shows scenes with present(scene, play). */
  constructor(state, source, progress, host) {
    this.state = state;
    this.source = source;
    this.host = host;
    this.timer = null;
    this.lost = null; // timer of the questions to a server that does not answer
    this.loading = null; // Promise of the menu of presets, until it is there
    this.controls = new Controls(state.fields, state.settings, (next, done) => this.change(next, done));
    this.presets = new Presets(state, source, (settings) => this.takePreset(settings));
    this.runner = new Runner(source, progress, {
      begun: () => { this.wrong = false; this.mark(); },
      arrived: (data, { play, shown }) => {
        this.wrong = false;
        this.controls.complain([]);
        if (!shown) host.present(new Scene(data), play);
      },
      refused: (error) => {
        this.wrong = true;
        this.controls.complain(error.wrong);
        if (!error.wrong.some(({ field }) => field) || !state.show) say(error.message);
        byId('retry').hidden = error.wrong.some(({ field }) => field);
        if (error.lost) this.wait();
      },
      ended: () => this.mark(),
    });
    this.wrong = false; // whether the last run was refused
    byId('retry').addEventListener('click', () => this.compute());
    byId('go-back').addEventListener('click', () => this.take(state.show.settings));
  }

  /**
   * Begin with the run of the address, or with a recorded scene, on which an address that names nothing opens: it is
   * there at once. Then the source gets ready for others.
   */
  start(recorded) {
    this.loading = this.presets.load().finally(() => { this.loading = null; });
    if (recorded) {
      this.state.open(recorded.settings);
      this.controls.show(this.state.settings);
      this.presets.show();
      this.host.present(recorded, false);
    }
    if (!recorded || this.source.warms) this.compute({ shown: recorded !== null });
    else setTimeout(() => this.source.warm(this.state.settings), WARM);
    this.mark();
  }

  /** Whether a run is under way or about to begin, or the menu of presets is on its way. */
  get busy() { return this.runner.busy || this.timer !== null || this.loading !== null; }

  /** Mark what the page shows: whether it is of the settings that the controls have, and whether that changes soon. */
  mark() {
    const { stale, show } = this.state;
    const coming = this.runner.busy || this.timer !== null;
    root.dataset.stale = String(stale);
    root.dataset.state = coming ? 'computing' : this.wrong || !show ? 'error' : stale ? 'stale' : 'ready';
    byId('stale').hidden = coming || !stale;
  }

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
    } else this.timer ??= setTimeout(() => this.follow(), HURRY);
    this.mark();
  }

  /** A slider moves: begin a run, unless one is under way that may still be shown on the way. */
  follow() {
    this.timer = null;
    if (this.runner.busy && this.runner.age < ENOUGH) this.timer = setTimeout(() => this.follow(), HURRY);
    else this.compute();
  }

  compute(options) {
    clearTimeout(this.timer);
    clearTimeout(this.lost);
    this.timer = this.lost = null;
    byId('retry').hidden = false;
    this.runner.start(this.state.settings, options);
    this.mark();
  }

  /** Take settings from elsewhere into the controls, as a step that undo takes back. */
  take(settings) {
    this.state.settings = settings;
    this.host.commit();
    this.restored();
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

  /** The settings are others, by undo or redo; their scene may be on the screen. */
  restored() {
    this.controls.show(this.state.settings);
    this.controls.complain([]);
    this.presets.show();
    if (this.state.show && !this.state.stale) {
      this.runner.cancel();
      this.wrong = false;
      say(null);
      this.mark();
    } else this.compute();
  }

  cancel() {
    this.runner.cancel();
    this.mark();
  }

  /** The server does not answer: ask until it does, then go on. */
  wait() {
    const mine = setTimeout(async () => {
      const answers = await this.source.answers();
      if (this.lost !== mine || !this.wrong) return; // there was another run since
      if (answers) this.compute();
      else this.wait();
    }, AGAIN);
    this.lost = mine;
  }
}
