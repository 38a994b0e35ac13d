// Many runs at once: the staircases of other seeds behind that of the run, their mean, and the mean of the
// law of merges, which forecasts the same starts.
//
// One short request for each seed, two at a time: each keeps to the limits of one run, and none is left when
// the reader goes on. The link has many=1.

import { byId } from '../dom.js';
import { drawKey } from '../draw/timeaxis.js';
import { toast } from './panels.js';
import { sentenceOf } from '../refusal.js';

const COUNT = 100;
const TOGETHER = 2;
const PAUSE = 150; // milliseconds between two pictures while they arrive
const POINTS = 400; // of a mean on the time line
const DASH = [5, 3];

export class Many {
  /** `source` computes; `host` has the callbacks changed() and commit(). */
  constructor(state, source, progress, host) {
    Object.assign(this, { state, source, progress, host });
    this.runs = []; // { seen, forecast }
    this.of = ''; // the settings they have in common
    this.under = null; // AbortController of those under way
    this.drawn = null; // lines, until there is another run or theme
    this.timer = null; // of the next picture
    byId('many').addEventListener('click', () => {
      state.many = !this.shown;
      host.commit();
      this.follow();
    });
    byId('seeds-cancel').addEventListener('click', () => this.keep());
  }

  get shown() { return this.runs.length > 0 || this.under !== null; }

  /** All settings but the seed. */
  common() { return JSON.stringify({ ...this.state.show.settings, seed: null }); }

  /** The scene is another one. If more than its seed differs, its other seeds are others too, and are left out. */
  renew() {
    if (this.shown && this.common() !== this.of) this.state.many = false;
    this.follow();
  }

  /** Show other seeds, or none, as the state says. */
  follow() {
    const { many, show, fields } = this.state;
    if (!many && this.shown) this.clear();
    else if (many && !this.shown && show?.scene.merges && fields.length) this.start(); // a file has no fields, and no server
  }

  clear() {
    this.stop();
    this.runs = [];
    this.show();
  }

  /** Compute no more; what is there stays, also in the link. */
  keep() {
    this.stop();
    this.state.many = this.shown;
    this.host.commit();
  }

  stop() {
    this.under?.abort();
    this.under = null;
    this.progress.end();
    this.show();
  }

  show() {
    clearTimeout(this.timer);
    this.timer = null;
    this.drawn = null;
    byId('many').setAttribute('aria-pressed', String(this.shown));
    this.host.changed();
  }

  async start() {
    const mine = new AbortController();
    const { settings } = this.state.show;
    this.under = mine;
    this.of = this.common();
    this.runs = [];
    this.progress.begin();
    this.show();
    let next = 1;
    const work = async () => {
      while (next <= COUNT && this.under === mine) {
        const seed = settings.seed + next;
        next += 1;
        const run = await this.source.stairs({ ...settings, seed }, mine.signal);
        if (this.under !== mine) return;
        this.runs.push(run);
        this.progress.update(this.runs.length / COUNT);
        this.timer ??= setTimeout(() => this.show(), PAUSE);
      }
    };
    try {
      await Promise.all(Array.from({ length: TOGETHER }, work));
      if (this.under === mine) this.stop();
    } catch (error) {
      if (this.under === mine) this.keep();
      if (error.name === 'AbortError') return;
      toast(sentenceOf(error));
    }
  }

  /** The mean number of clusters at t, as seen or as forecast; null if it is not known. */
  mean(kind, t) {
    const known = this.runs.filter((run) => run[kind]);
    if (!known.length || known.length < this.runs.length) return null;
    return this.state.scene.n - known.reduce((sum, run) => sum + arrived(run[kind], t), 0) / known.length;
  }

  /** Lines for the time line, behind that of the run. */
  lines() {
    if (!this.runs.length) return [];
    const { scene, colors: { theme } } = this.state.show;
    if (this.drawn?.theme !== theme || this.drawn.scene !== scene) {
      const times = Array.from({ length: POINTS + 1 }, (_, i) => scene.time(i / POINTS));
      const mean = (kind) => times.map((t) => [t, this.mean(kind, t)]);
      const each = this.runs.map(({ seen }) => ({ steps: thinned(scene, seen), color: theme.soft, width: 1, alpha: 0.18 }));
      const forecast = this.mean('forecast', 0) === null ? [] : [{ steps: mean('forecast'), color: theme.forecast, width: 1.7, alpha: 1, dash: DASH }];
      const lines = [...each, { steps: mean('seen'), color: theme.ink, width: 2, alpha: 1 }, ...forecast];
      this.drawn = { theme, scene, lines };
    }
    return this.drawn.lines;
  }

  /** Say what the lines are, and their values at this moment; return where. */
  drawKeys(pen, box, theme) {
    if (!this.runs.length) return [];
    const t = this.state.time * (1 + 1e-9);
    const forecast = this.mean('forecast', t);
    const rows = [[`mean of ${this.runs.length} other seeds: ${this.mean('seen', t).toFixed(2)}`, theme.ink, []]];
    if (forecast !== null) rows.push([`law of merges, for the same starts: ${forecast.toFixed(2)}`, theme.forecast, DASH]);
    return rows.map(([text, color, dash], i) => drawKey(pen, box, box.y + 12 + 16 * i, text, color, dash, theme));
  }
}

/** The number of times up to t in a list of increasing times. */
function arrived(times, t) {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= t) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The steps of a staircase that can be told apart. */
function thinned(scene, times) {
  const steps = [[0, scene.n]];
  let last = 0;
  times.forEach((t, i) => {
    const u = scene.moment(t);
    if (u - last < 0.002 && i + 1 < times.length && scene.moment(times[i + 1]) - u < 0.002) return;
    last = u;
    steps.push([t, scene.n - 1 - i]);
  });
  return steps;
}
