// The words around the pictures: theory, status, the token in hand, what a reader hears.

import { byId, make } from './dom.js';
import { counted, degrees, percent, short, subscript, tokenName } from './format.js';
import { clusterSizes } from './look.js';

/** The library's plain text with the signs of mathematics: x_1 is x₁, 1e60 is 10⁶⁰. */
export function typeset(text) {
  return text
    .replace(/x_(\d+)/g, (_, k) => `x${subscript(k)}`)
    .replace(/\b(\d+(?:\.\d+)?e[+-]?\d+)\b/g, (_, number) => short(Number(number)))
    .replace(/(^|[\s(=,±])-(\d)/g, '$1−$2');
}

export function showTheory(scene) {
  const { predicted, seen, agrees } = scene.theory;
  byId('predicted').textContent = typeset(predicted);
  byId('seen').textContent = typeset(seen);
  const verdict = byId('verdict');
  verdict.dataset.agrees = String(agrees);
  verdict.textContent = agrees === null ? '' : agrees ? '✓ as predicted' : '✗ not as predicted';
}

export function showStatus(scene) {
  const { method, engine, steps, seconds, reason } = scene.stats;
  const parts = [counted(steps, 'step'), `${method} method${reason ? ` (${reason})` : ''}`, engine];
  if (seconds !== null && seconds !== undefined) parts.push(seconds < 1 ? `${Math.max(1, Math.round(1000 * seconds))} ms` : `${short(seconds, 2)} s`);
  const limit = scene.trusted_until;
  const doubted = limit !== null && limit < scene.end;
  const phase = scene.phase_known_until;
  if (phase !== null && phase < scene.end) parts.push(`the place on the orbit is known until t = ${short(phase)}`);
  parts.push(doubted ? `to be trusted until t = ${short(limit)}: then rounding decides` : 'to be trusted to the end');
  byId('status').textContent = parts.join(' · ');
  byId('status').dataset.trust = String(!doubted);
}

export function showMoment(scene, view, playing) {
  const t = scene.time(view.u);
  const clusters = counted(scene.clustersAt(view.u), 'cluster');
  byId('t').textContent = short(t);
  byId('clusters').textContent = clusters;
  const line = byId('timeline');
  line.setAttribute('aria-valuenow', String(Math.round(1000 * view.u)));
  line.setAttribute('aria-valuetext', `t = ${short(t)}: ${clusters}`);
  const { renyi, strong } = scene.consumption;
  const { frame } = scene.frameAt(view.u);
  byId('consumed-renyi').textContent = percent(renyi[frame]);
  byId('consumed-strong').textContent = percent(strong[frame]);
  summarise(`t = ${short(t)}: ${clusters}`, playing);
}

let waiting = null;

/** Tell a screen reader, but not in the middle of a movement; while playing, now and then. */
function summarise(text, playing) {
  if (playing && waiting) return;
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    waiting = null;
    if (byId('summary').textContent !== text) byId('summary').textContent = text;
  }, playing ? 2500 : 350);
}

/** What is known about a token now, as [label, text] pairs. */
export function tokenFacts(scene, view, k) {
  const labels = scene.labelsAt(view.u);
  const tokens = scene.tokensAt(view.u);
  const leader = labels[k];
  const size = clusterSizes(labels).get(leader);
  const cluster = size === 1 ? 'alone' : leader === k
    ? `leads a cluster of ${size}` : `in the cluster of ${tokenName(leader)}, with ${size} tokens`;
  let center = scene.strong.has(k) ? 'strong Rényi centre' : scene.renyi.has(k) ? 'Rényi centre' : 'no centre';
  if (k === 0) center += ', the first token';
  if (scene.frozenSet.has(k)) center += ', frozen';
  return { name: tokenName(k), cluster, center, drift: `Drift ${degrees(scene.drift(tokens, k))} from its start`, tokens };
}

export function showToken(scene, view) {
  const k = view.hover ?? view.token;
  const text = byId('token-text');
  const box = byId('token');
  byId('token-clear').hidden = view.token === null;
  if (document.activeElement !== box) box.value = k === null ? '' : String(k + 1);
  if (k === null || k >= scene.n) {
    text.textContent = 'Point at a token to follow it everywhere; click it, or type its number, to keep it.';
    return;
  }
  const facts = tokenFacts(scene, view, k);
  const row = scene.attentionRow(facts.tokens, k, new Float64Array(scene.n));
  let best = 0;
  for (let j = 1; j < scene.n; j++) if (row[j] > row[best]) best = j;
  const heeds = scene.frozenSet.has(k) ? 'Moves for nobody' : `Attends to itself by ${percent(row[k])}${best === k ? '' : `, most to ${tokenName(best)} (${percent(row[best])})`}`;
  text.replaceChildren(make('b', { textContent: `${facts.name} ` }), `${facts.cluster}; ${facts.center}.`, make('br'), `${facts.drift}.`, make('br'), `${heeds}.`);
}

/** The little card next to the pointer. */
export function showTip(scene, view, event) {
  const tip = byId('tip');
  tip.hidden = view.hover === null || !event;
  if (tip.hidden) return;
  const facts = tokenFacts(scene, view, view.hover);
  tip.replaceChildren(
    make('b', { textContent: `${facts.name} ` }), `token ${view.hover + 1} of ${scene.n}`, make('br'),
    facts.cluster, make('br'), facts.center, make('br'), facts.drift,
  );
  const box = byId('ball-box').getBoundingClientRect();
  const [x, y] = [event.clientX - box.left, event.clientY - box.top];
  const left = x + 18 + tip.offsetWidth > box.width ? x - 18 - tip.offsetWidth : x + 18;
  tip.style.left = `${Math.max(0, left)}px`;
  tip.style.top = `${Math.max(0, Math.min(y + 12, box.height - tip.offsetHeight))}px`;
}

/** In a file there are no controls: the settings are told instead. */
export function showFacts(scene) {
  const s = scene.settings;
  const rows = [['n', scene.n], ['d', scene.d], ['β', short(scene.beta)], ['δ', short(scene.delta)]];
  if (s) rows.push(['V', s.V], ['Q', s.Q], ['K', s.K]);
  else if (scene.V.every((row, i) => row.every((x, j) => x === (i === j ? 1 : 0)))) rows.push(['V', 'I']);
  else if (scene.d <= 4) rows.push(['V', scene.V.map((row) => row.map((x) => short(x)).join(', ')).join('; ')]);
  rows.push(['T', short(scene.end)]);
  if (s) rows.push(['seed', s.seed]);
  rows.push(['mask', scene.mask]);
  if (scene.frozen.length) rows.push(['frozen', counted(scene.frozen.length, 'token')]);
  byId('facts').querySelector('dl').replaceChildren(
    ...rows.flatMap(([name, value]) => [make('dt', { textContent: name }), make('dd', { textContent: String(value) })]),
  );
  // A file that was mailed must explain itself.
  if (byId('facts').hidden) {
    byId('facts').prepend(byId('equation'));
    byId('facts').append(...[...document.querySelectorAll('#help > p')].map((p) => p.cloneNode(true)));
  }
  byId('facts').hidden = false;
}

let fading = null;

/** A short word at the foot of the page that goes by itself. */
export function toast(text) {
  const box = byId('toast');
  box.textContent = text;
  box.hidden = false;
  clearTimeout(fading);
  fading = setTimeout(() => { box.hidden = true; }, 4500);
}
