// The words around the pictures: theory, status, settings of a file, what a screen reader hears.

import { byId, make } from '../dom.js';
import { showEquation } from './equation.js';
import { forecastSentence } from './forecast.js';
import { provedSentence } from './proved.js';
import { counted, percent, short, typeset } from '../format.js';
import { TRAILS } from '../draw/look.js';
import { showStory, storyOf } from './story.js';

/** Everything that holds for a whole scene. Elements with data-needs are hidden without it. */
export function showScene(scene) {
  const known = {
    attention: scene.hasAttention, centers: scene.centers, caps: scene.hasCaps,
    consumption: scene.consumption, theory: scene.theory, forecast: scene.forecast, proved: scene.proved,
    words: scene.linear, flow: !scene.linear, law: scene.hasAttention && !scene.linear, story: storyOf(scene),
    merges: scene.merges && scene.plateaus, meeting: scene.merges, parting: !scene.merges,
  };
  for (const element of document.querySelectorAll('[data-needs]')) element.hidden = !known[element.dataset.needs];
  byId('token').max = String(scene.n);
  for (const element of document.querySelectorAll('.radius')) element.textContent = scene.radius ? `${short(scene.radius)} rad` : 'a small angle';
  byId('frozen-key').hidden = !scene.frozen.length;
  byId('show-caps').disabled = scene.d > 3;
  byId('show-caps').title = scene.d > 3 ? 'Caps cannot be drawn along principal axes' : '';
  byId('show-trails').title = scene.n > TRAILS ? `Trails of every ${Math.ceil(scene.n / TRAILS)}th token` : '';
  byId('show-forecast').title = scene.forecast ? `${forecastSentence(scene.forecast)} (F)` : '';
  byId('show-proved').title = scene.proved ? `${provedSentence(scene.proved)} (V)` : '';
  byId('axes-note').hidden = !scene.axes;
  if (scene.axes) {
    const share = scene.axes.variance.reduce((a, b) => a + b, 0);
    byId('axes-note').textContent = `${scene.d} dimensions, seen along their three principal axes: ${percent(share)} of the variance`;
  }
  byId('ball').setAttribute('aria-label', `${scene.n} tokens on the ${scene.d === 2 ? 'circle' : 'sphere'}. Arrow keys turn it, J and K choose a token.`);
  showEquation(scene.equation);
  showStory(scene);
  showTheory(scene);
  showMissing(scene);
  showStatus(scene);
}

function showTheory(scene) {
  byId('shown-line').hidden = Boolean(scene.theory);
  byId('shown').textContent = typeset(scene.caption);
  if (!scene.theory) return;
  const { predicted, seen, agrees } = scene.theory;
  byId('predicted').textContent = typeset(predicted);
  byId('seen').textContent = typeset(seen);
  const agreement = byId('agreement');
  agreement.dataset.agrees = String(agrees);
  agreement.textContent = agrees === null ? '' : agrees ? '✓ as predicted' : '✗ not as predicted';
}

/** In the place of panels that are hidden: what is shown, and what is not known. */
function showMissing(scene) {
  const missing = [
    [scene.hasAttention, 'attention weights'], [scene.centers, 'Rényi centres'],
    [scene.consumption || !scene.centers, 'what centres consume'], [scene.theory, 'a prediction'],
  ].filter(([known]) => !known).map(([, name]) => name);
  byId('missing-panel').hidden = !missing.length;
  byId('missing').textContent = `The picture shows the tokens, their clusters and how these merge. Not known here: ${missing.join(', ')}.`;
}

function showStatus(scene) {
  const parts = [];
  if (scene.stats) {
    const { method, engine, steps, seconds, reason } = scene.stats;
    parts.push(counted(steps, 'step'), `${method} method${reason ? ` (${reason})` : ''}`, engine);
    if (seconds !== null && seconds !== undefined) parts.push(seconds < 1 ? `${Math.max(1, Math.round(1000 * seconds))} ms` : `${short(seconds, 2)} s`);
  } else parts.push(`${counted(scene.n, 'token')} in ${scene.d} dimensions`, counted(scene.count, 'frame'));
  const limit = scene.trusted_until ?? Infinity;
  const doubted = limit < scene.end;
  const phase = scene.phase_known_until ?? Infinity;
  if (phase < scene.end) parts.push(`the place on the orbit is known until t = ${short(phase)}`);
  if (doubted) parts.push(`trusted until t = ${short(limit)}: then rounding decides`);
  else if (scene.stats) parts.push('trusted to the end');
  byId('status').textContent = parts.join(' · ');
  byId('status').dataset.trust = String(!doubted);
}

/** What holds at this moment. */
export function showMoment(scene, view, playing) {
  const t = scene.time(view.u);
  const clusters = counted(scene.clustersAt(view.u), 'cluster');
  byId('clock').replaceChildren(scene.linear ? `${scene.unit} ` : make('i', { textContent: 't' }), scene.linear ? '' : ' = ');
  byId('t').textContent = short(t);
  byId('clusters').textContent = clusters;
  const line = byId('timeline');
  line.setAttribute('aria-valuenow', String(Math.round(1000 * view.u)));
  line.setAttribute('aria-valuetext', `${scene.when(t)}: ${clusters}`);
  if (scene.consumption) {
    const { frame } = scene.frameAt(view.u);
    byId('consumed-renyi').textContent = percent(scene.consumption.renyi[frame]);
    byId('consumed-strong').textContent = percent(scene.consumption.strong[frame]);
  }
  announce(`${scene.when(t)}: ${clusters}`, playing);
}

const announced = { timer: null };

/** Tell a screen reader, but not in the middle of a movement; while playing, now and then. */
function announce(text, playing) {
  if (playing && announced.timer) return;
  clearTimeout(announced.timer);
  announced.timer = setTimeout(() => {
    announced.timer = null;
    if (byId('summary').textContent !== text) byId('summary').textContent = text;
  }, playing ? 2500 : 350);
}

/** A file has no controls: it lists the settings instead, and explains what is shown. */
export function showFacts({ facts, stats }) {
  byId('facts-title').textContent = stats ? 'This run' : 'This path';
  byId('facts').querySelector('dl').replaceChildren(
    ...Object.entries(facts ?? {}).flatMap(([name, value]) => [
      make('dt', { textContent: name }),
      make('dd', { textContent: typeof value === 'number' ? short(value) : value }),
    ]),
  );
  byId('facts').prepend(byId('equation'));
  byId('facts').append(...[...document.querySelectorAll('#help > p')].map((p) => p.cloneNode(true)));
  byId('facts').hidden = false;
}

const toasted = { timer: null };

/** A short message at the foot of the page, which disappears by itself. */
export function toast(text) {
  const box = byId('toast');
  box.textContent = text;
  box.hidden = false;
  clearTimeout(toasted.timer);
  toasted.timer = setTimeout(() => { box.hidden = true; }, 4500);
}
