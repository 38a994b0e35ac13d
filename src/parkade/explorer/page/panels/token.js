// One token in words: in the panel at the side, and next to the pointer.

import { byId, make, placeBeside } from '../dom.js';
import { degrees, percent, short } from '../format.js';
import { clusterSizes } from '../draw/look.js';

const HINT = 'Point at a token to follow it everywhere; click it, or type its number, to keep it.';

/** What is known about a token now. */
function tokenFacts(scene, view, k) {
  const labels = scene.labelsAt(view.u);
  const tokens = scene.tokensAt(view.u);
  const leader = labels[k];
  const size = clusterSizes(labels).get(leader);
  const cluster = size === 1 ? 'alone' : leader === k
    ? `leads a cluster of ${size}` : `in the cluster of ${scene.name(leader)}, with ${size} tokens`;
  const roles = [];
  if (scene.centers) roles.push(scene.strong.has(k) ? 'strong Rényi centre' : scene.renyi.has(k) ? 'Rényi centre' : 'no centre');
  if (k === 0) roles.push('the first token');
  if (scene.frozenSet.has(k)) roles.push('frozen');
  const length = scene.lengthAt(view.u, k);
  return {
    length: length === null ? '' : `Length ${short(length)}`,
    name: scene.name(k), cluster, role: roles.join(', '), drift: `Drift ${degrees(scene.drift(tokens, k))} from its start`, tokens,
  };
}

/** A name in bold, then lines. */
const written = (name, lines) => [make('b', { textContent: `${name} ` }), ...lines.flatMap((line, i) => (i ? [make('br'), line] : [line]))];

/** To which tokens token k attends. */
function attends(scene, tokens, k) {
  if (scene.frozenSet.has(k)) return 'Attends to no token';
  const row = scene.attentionRow(tokens, k, new Float64Array(scene.n));
  let best = 0;
  for (let j = 1; j < scene.n; j++) if (row[j] > row[best]) best = j;
  const most = best === k ? '' : `, most to ${scene.name(best)} (${percent(row[best])})`;
  return `Attends to itself by ${percent(row[k])}${most}`;
}

/** The panel of the token that is pointed at or selected. */
export function showToken(scene, view) {
  const k = view.hover ?? view.token;
  const text = byId('token-text');
  const box = byId('token');
  byId('token-clear').hidden = view.token === null;
  if (document.activeElement !== box) box.value = k === null ? '' : String(k + 1);
  if (k === null || k >= scene.n) {
    text.textContent = HINT;
    return;
  }
  const { name, cluster, role, drift, length, tokens } = tokenFacts(scene, view, k);
  const lines = [`${[cluster, role].filter(Boolean).join('; ')}.`, `${[drift, length].filter(Boolean).join('. ')}.`];
  if (scene.hasAttention) lines.push(`${attends(scene, tokens, k)}.`);
  text.replaceChildren(...written(name, lines));
}

/** The card next to the pointer. */
export function showTip(scene, view, event) {
  const tip = byId('tip');
  tip.hidden = view.hover === null || !event;
  if (tip.hidden) return;
  const { name, cluster, role, drift } = tokenFacts(scene, view, view.hover);
  const lines = [`token ${view.hover + 1} of ${scene.n}`, cluster, role, drift].filter(Boolean);
  tip.replaceChildren(...written(name, lines));
  const box = byId('ball-box').getBoundingClientRect();
  const [x, y] = [event.clientX - box.left, event.clientY - box.top];
  placeBeside(tip, x, box.width);
  tip.style.top = `${Math.max(0, Math.min(y + 12, box.height - tip.offsetHeight))}px`;
}
