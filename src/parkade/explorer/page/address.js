// The link: settings and view as the part of the address after '#', and undo through history.
//
// #n=200&d=2&beta=64&…&t=14.2&turn=w,x,y,z&zoom=1&pan=0,0&color=cluster&show=trails,renyi,…&token=5
// Settings that have their default value, and a view that is as at first, are left out.

import { plain } from './format.js';

export const DEFAULTS = {
  n: 32, d: 3, beta: 9, c: 4, V: 'I', Q: 'I', K: 'I', mask: 'causal', frozen: 'none', seed: 1, T: 1000,
};
const NUMBERS = new Set(['n', 'd', 'beta', 'c', 'seed', 'T']);

export const TOGGLES = { trails: true, renyi: true, strong: true, caps: true, names: true, group: false };

/** A turn of null is the scene's own: its first token in front. */
export function freshView() {
  return {
    u: 0, turn: null, zoom: 1, pan: [0, 0], color: 'cluster', ...TOGGLES, token: null, hover: null,
  };
}

/** Settings and view from a link; what cannot be read is left as it was by default. */
export function parseLink(hash, base = DEFAULTS) {
  const fields = new URLSearchParams(hash.replace(/^#/, ''));
  const settings = { ...base };
  for (const key of Object.keys(DEFAULTS)) {
    if (!fields.has(key)) continue;
    const text = fields.get(key);
    // Nonsense goes to the server as it is: its answer tells what is wrong with it.
    settings[key] = NUMBERS.has(key) && text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
  }
  const view = freshView();
  const list = (name, length) => {
    const values = (fields.get(name) ?? '').split(',').map(Number);
    return values.length === length && values.every(Number.isFinite) ? values : null;
  };
  const turn = list('turn', 4);
  if (turn && Math.hypot(...turn) > 1e-6) {
    const size = Math.hypot(...turn);
    view.turn = turn.map((c) => c / size);
  }
  const zoom = Number(fields.get('zoom'));
  if (zoom > 0) view.zoom = Math.min(200, Math.max(0.5, zoom));
  view.pan = list('pan', 2) ?? view.pan;
  if (fields.get('color') === 'position') view.color = 'position';
  if (fields.has('show')) {
    const shown = new Set(fields.get('show').split(','));
    for (const name of Object.keys(TOGGLES)) view[name] = shown.has(name);
  }
  const token = Number(fields.get('token'));
  if (Number.isInteger(token) && token >= 1) view.token = token - 1;
  const t = fields.has('t') && Number(fields.get('t')) >= 0 ? Number(fields.get('t')) : null;
  return { settings, view, t };
}

export function writeLink(settings, view, t, base = DEFAULTS) {
  const parts = [];
  const add = (key, value) => parts.push(`${key}=${encodeURIComponent(value).replace(/%2C/g, ',').replace(/%3B/g, ';').replace(/%3A/g, ':')}`);
  for (const key of Object.keys(DEFAULTS)) {
    if (settings[key] !== base[key]) add(key, typeof settings[key] === 'number' ? plain(settings[key]) : settings[key]);
  }
  if (t !== null) add('t', plain(Number(t.toPrecision(8))));
  const close = (a, b) => a.every((c, i) => Math.abs(c - b[i]) < 5e-4);
  if (view.turn) add('turn', view.turn.map((c) => c.toFixed(4)).join(','));
  if (Math.abs(view.zoom - 1) > 1e-3) add('zoom', view.zoom.toFixed(3));
  if (!close(view.pan, [0, 0])) add('pan', view.pan.map((c) => c.toFixed(4)).join(','));
  if (view.color !== 'cluster') add('color', view.color);
  const shown = Object.keys(TOGGLES).filter((name) => view[name]);
  if (Object.keys(TOGGLES).some((name) => view[name] !== TOGGLES[name])) add('show', shown.join(','));
  if (view.token !== null) add('token', view.token + 1);
  return `#${parts.join('&')}`;
}

/** The steps that undo takes back. The browser's back and forward are the same thing. */
export class Steps {
  constructor(onMove) {
    this.index = history.state?.parkade ?? 0;
    this.last = this.index;
    window.addEventListener('popstate', (event) => {
      this.index = event.state?.parkade ?? this.index;
      onMove();
    });
    this.keep(location.hash);
  }

  /** A new step. */
  push(link) {
    if (link === location.hash) return;
    this.index += 1;
    this.last = this.index;
    this.write('pushState', link);
  }

  /** The step we are at looks different now: time went on, the sphere was turned. */
  keep(link) {
    this.write('replaceState', link);
  }

  write(method, link) {
    try {
      history[method]({ parkade: this.index }, '', link || location.pathname + location.search);
    } catch {
      // In a notebook's frame there is no address of our own; undo is then out of reach.
      this.index = 0;
    }
  }

  get canUndo() { return this.index > 0; }
  get canRedo() { return this.index < this.last; }
  undo() { if (this.canUndo) history.back(); }
  redo() { if (this.canRedo) history.forward(); }
}
