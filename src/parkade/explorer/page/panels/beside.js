// A second scene beside the first, at the same time: another value of one setting, or the forecast.
//
// The link has beside=beta:16, beside=mask:full, beside=seed:2, beside=norm:pre or beside=forecast.

import { drawBall } from '../draw/ball.js';
import { byId, make, typedNumber } from '../dom.js';
import { forecastScene } from './forecastscene.js';
import { counted, plain, short } from '../format.js';
import { TokenColors, pathVertices } from '../draw/look.js';
import { themeColors } from '../draw/palette.js';
import { sentenceOf } from '../refusal.js';
import { Scene } from '../scene.js';

const root = document.documentElement;
const FORECAST = 'forecast';
const OFFERED = ['beta', 'mask', 'seed', 'norm'];

/** A value to compare with at first. */
const other = {
  beta: (value) => (value > 4 ? value / 4 : 4 * value || 1),
  mask: (value) => (value === 'full' ? 'causal' : 'full'),
  seed: (value) => value + 1,
  norm: (value) => (value === 'pre' ? 'post' : 'pre'),
};

export class Beside {
  /** `host` has dark(), and the callbacks changed() and commit(). Without a source of scenes there is only the forecast. */
  constructor(state, host, source) {
    this.state = state;
    this.host = host;
    this.source = source;
    this.fields = new Map(source ? state.fields.filter(({ name, offered }) => OFFERED.includes(name) && offered?.length !== 1).map((field) => [field.name, field]) : []);
    this.shown = null; // { scene, colors, paths, names } of the second scene
    this.run = null; // AbortController of its run
    this.said = ''; // in place of the picture
    byId('beside').append(...[...this.fields.values()].map(({ name, symbol, label }) => make('option', { value: name, textContent: `another ${symbol || label}` })));
    byId('beside').append(make('option', { value: FORECAST, textContent: 'the forecast' }));
    byId('beside').addEventListener('change', ({ target }) => this.choose(target.value));
  }

  get busy() { return this.run !== null; }

  choose(name) {
    const { settings } = this.state.show;
    if (!name) this.state.beside = null;
    else this.state.beside = name === FORECAST ? name : `${name}:${this.text(other[name](settings[name]))}`;
    this.host.commit();
    this.renew();
  }

  text(value) { return typeof value === 'number' ? plain(value) : value; }

  /** The setting that differs and its value; null if there is nothing beside, or the forecast. */
  get difference() {
    const [name, text] = (this.state.beside ?? '').split(':');
    return this.fields.has(name) ? { name, value: typedNumber(text ?? '') } : null;
  }

  /** Another first scene, or another choice: show the second one that belongs to it. */
  async renew() {
    const { state } = this;
    this.run?.abort();
    this.run = null;
    const wanted = state.beside;
    const known = wanted === FORECAST ? state.scene?.forecast : this.difference && state.show?.settings;
    byId('beside').querySelector(`[value="${FORECAST}"]`).disabled = !state.scene?.forecast;
    byId('beside-choice').hidden = !this.fields.size && !state.scene?.forecast;
    this.offer();
    if (!known) {
      this.put(null);
      return;
    }
    if (wanted === FORECAST) this.put(forecastScene(state.scene), ['simulation', 'forecast']);
    else await this.compute(this.difference, state.show.settings);
  }

  async compute({ name, value }, settings) {
    const mine = new AbortController();
    this.run = mine;
    const update = (text) => { if (this.run === mine) this.say(text); };
    this.put(null, this.names(name, settings[name], value), true);
    update('computing…');
    try {
      const data = await this.source.scene({ ...settings, [name]: value }, {
        signal: mine.signal, onProgress: (share) => update(`computing… ${Math.round(100 * share)} %`), onNote: update,
      });
      if (this.run === mine) this.put(new Scene(data), this.names(name, settings[name], value));
    } catch (error) {
      if (error.name === 'AbortError') return;
      update(sentenceOf(error));
    } finally {
      if (this.run === mine) this.run = null;
    }
  }

  names(name, ...values) {
    const { symbol, label, options } = this.fields.get(name);
    const words = new Map(options ?? []);
    return values.map((value) => words.get(value) ?? `${symbol || label}${symbol && symbol.length === 1 ? ' = ' : ' '}${typeof value === 'number' ? short(value) : value}`);
  }

  say(text) {
    this.said = text;
    byId('beside-text').textContent = text;
    byId('beside-text').hidden = !text;
  }

  /** Show a scene beside the first, or none; `waits` if one is to come. */
  put(scene, names = [], waits = false) {
    this.say('');
    this.shown = scene && { scene, names, paths: pathVertices(scene), colors: null };
    this.recolor();
    this.titles = names;
    const before = root.dataset.beside;
    if (scene || waits) root.dataset.beside = 'true';
    else delete root.dataset.beside;
    if (before || root.dataset.beside) this.host.changed();
  }

  recolor() {
    if (!this.shown) return;
    this.shown.colors = new TokenColors(this.shown.scene, themeColors(this.host.dark()));
    // The same leaders have the same colours in a run and its forecast.
    if (this.state.beside === FORECAST) this.shown.colors.leaders = this.state.show.colors.leaders;
  }

  /** The menu, and a control for the value. */
  offer() {
    const [name] = (this.state.beside ?? '').split(':');
    byId('beside').value = name;
    const field = this.fields.get(name);
    byId('beside-value').hidden = !field;
    if (!field) {
      byId('beside-value').replaceChildren();
      return;
    }
    const take = ({ target }) => {
      this.state.beside = `${name}:${this.text(typedNumber(target.value))}`;
      this.host.commit();
      this.renew();
    };
    const { value } = this.difference;
    const label = `${field.symbol || field.label} beside`;
    const control = field.options
      ? make('select', { 'aria-label': label }, ...field.options.filter(([option]) => !field.offered || field.offered.includes(option)).map(([option, text]) => make('option', { value: option, textContent: text })))
      : make('input', { type: 'text', inputMode: 'decimal', 'aria-label': label, spellcheck: false });
    control.value = this.text(value);
    control.addEventListener('change', take);
    byId('beside-value').replaceChildren(control);
  }

  /** Its staircase, behind that of the first scene. */
  lines() {
    if (!this.shown || this.state.beside === FORECAST) return [];
    const { scene, colors: { theme } } = this.shown;
    const steps = [[0, scene.n], ...scene.arrivals.map((t, i) => [t, scene.n - 1 - i])];
    return [{ steps, color: theme.strong, width: 2, alpha: 0.9 }];
  }

  /** Draw it with a pen, at the same time as the first scene. */
  draw({ pen, box }) {
    const { state, shown } = this;
    const t = state.time;
    const { view } = state;
    const counts = [counted(state.scene.clustersAt(view.u), 'cluster')];
    if (shown) {
      const { scene } = shown;
      const within = (k) => (k !== null && k < scene.n ? k : null);
      const u = scene.moment(t);
      const notes = view.notes && state.beside !== FORECAST;
      drawBall(pen, box, shown, { ...view, u, notes, token: within(view.token), hover: within(view.hover) });
      counts.push(counted(scene.clustersAt(u), 'cluster'));
    }
    ['one', 'other'].forEach((id, i) => {
      byId(`beside-${id}`).textContent = [this.titles[i], counts[i]].filter(Boolean).join(': ');
    });
  }
}
