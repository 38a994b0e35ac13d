// The link: settings and view as the part of the address after '#'.
//
// #n=200&d=2&beta=64&…&t=14.2&turn=w,x,y,z&zoom=1&pan=0,0&color=cluster&show=trails,renyi,…&token=5
// Settings and parts of the view that have their default value are left out.

import { plain } from '../format.js';

export const TOGGLES = { trails: true, renyi: true, strong: true, caps: true, names: true, notes: true, forecast: true, proved: true, group: false };

/** Whether an address has no settings of its own: it names nothing, or a step of the tour. */
export const opens = (hash) => hash.length < 2 || new URLSearchParams(hash.slice(1)).has('tour');

/** The view at first. A turn of null is the scene's own: its first token in front. */
function freshView() {
  return {
    u: 0, turn: null, zoom: 1, pan: [0, 0], color: 'cluster', ...TOGGLES, token: null, hover: null,
  };
}

/** Settings, view and time of a link, its step of the tour, whether it is a presentation, and what it compares with; `base` are the settings it need not name. */
export function parseLink(hash, fields, base) {
  const parameters = new URLSearchParams(hash.replace(/^#/, ''));
  const settings = { ...base };
  for (const { name, default: usual } of fields) {
    if (!parameters.has(name)) continue;
    const text = parameters.get(name);
    // What is no number goes to the server as it is: its answer says what is wrong with it.
    const isNumber = typeof usual === 'number' && text.trim() !== '' && Number.isFinite(Number(text));
    settings[name] = isNumber ? Number(text) : text;
  }
  const view = freshView();
  const list = (name, length) => {
    const values = (parameters.get(name) ?? '').split(',').map(Number);
    return values.length === length && values.every(Number.isFinite) ? values : null;
  };
  const turn = list('turn', 4);
  if (turn && Math.hypot(...turn) > 1e-6) {
    const size = Math.hypot(...turn);
    view.turn = turn.map((c) => c / size);
  }
  const zoom = Number(parameters.get('zoom'));
  if (zoom > 0) view.zoom = Math.min(200, Math.max(0.5, zoom));
  view.pan = list('pan', 2) ?? view.pan;
  if (parameters.get('color') === 'position') view.color = 'position';
  if (parameters.has('show')) {
    const shown = new Set(parameters.get('show').split(','));
    for (const name of Object.keys(TOGGLES)) view[name] = shown.has(name);
  }
  const tour = Number(parameters.get('tour'));
  const token = Number(parameters.get('token'));
  if (Number.isInteger(token) && token >= 1) view.token = token - 1;
  const t = parameters.has('t') && Number(parameters.get('t')) >= 0 ? Number(parameters.get('t')) : null;
  return { settings, view, t, tour: Number.isInteger(tour) && tour >= 1 ? tour : null, talk: parameters.has('talk'), beside: parameters.get('beside'), many: parameters.has('many') };
}

/** The link of settings, a view and a time, which may be null. */
export function writeLink(settings, view, t, fields, base) {
  const parts = [];
  const add = (key, value) => parts.push(`${key}=${encodeURIComponent(value).replace(/%2C/g, ',').replace(/%3B/g, ';').replace(/%3A/g, ':')}`);
  for (const { name } of fields) {
    const value = settings[name];
    if (value !== base[name]) add(name, typeof value === 'number' ? plain(value) : value);
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
  // An address that names nothing is that of the opening.
  if (!parts.length && fields.length) add(fields[0].name, plain(settings[fields[0].name]));
  return `#${parts.join('&')}`;
}
