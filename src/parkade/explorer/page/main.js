// The explorer: holds the state, and connects controls, pictures, link and server.
//
// The page is a few ES modules that the server's export inlines, so they keep to
//   import { a, b } from './x.js';   export const / function / class   one name each,
// without cycles, default exports, dynamic imports or import.meta.
//
// An exported file carries its scene in <script type="application/json" id="scene">. Then
// <html data-mode="file">, and nothing that needs a server is shown.
//
// For tests and for the curious: window.parkade has
//   ready      Promise of the first scene being drawn
//   scene      the Scene shown (null before), settings (those shown or being computed)
//   view       u, turn, zoom, pan, color, trails, renyi, strong, caps, names, group, token, hover
//   t          the time shown; goTo(t) sets it;  playing
//   idle()     Promise of no run under way and everything drawn
//   places     screen position of each token on #ball: x, y, depth (CSS pixels), n × 3
// <html> has data-state = "computing" | "ready" | "error", data-theme, data-mode; #time has data-playing.
// Controls have the ids n, d, beta, c, T (each with a -slider), V, Q, K (a select; entries V-0,
// V-0-1, V-seed, V-text), mask-causal, mask-full, frozen-none, frozen-renyi, frozen-strong, seed,
// seed-next, preset; errors stand in FIELD-error, form-error or message.

import { byId, make } from './dom.js';
import { Scene } from './scene.js';
import { Wardrobe, pathVertices } from './look.js';
import { themeColors } from './palette.js';
import { drawBall } from './ball.js';
import { drawConsumption, drawStaircase } from './charts.js';
import { AttentionImage } from './matrix.js';
import { Controls } from './controls.js';
import { Gestures } from './gestures.js';
import { Timeline } from './timeline.js';
import { DEFAULTS, Steps, TOGGLES, freshView, parseLink, writeLink } from './address.js';
import { Refusal, fetchFile, fetchPresets, fetchScene } from './server.js';
import { figurePng, figureSvg } from './figure.js';
import { recordGif, recordVideo, videoType } from './record.js';
import { percent, tokenName } from './format.js';
import { showFacts, showMoment, showStatus, showTheory, showTip, showToken, toast } from './panels.js';
import { listenToKeys } from './keys.js';

const SLOW = 150; // milliseconds before a run shows that it takes time
const root = document.documentElement;
const inlined = byId('scene');
const calm = matchMedia('(prefers-reduced-motion: reduce)');
const darkness = matchMedia('(prefers-color-scheme: dark)');

const own = inlined ? JSON.parse(inlined.textContent) : null;
const base = own ? { ...DEFAULTS, n: own.n, d: own.d, ...own.settings } : DEFAULTS;
const asked = parseLink(location.hash, base);

let { settings } = asked; // of the scene shown, or being computed
let view = asked.view;
let wishedTime = asked.t;
let show = null; // { scene, wardrobe, paths }
let places = new Float64Array(0);
let run = null; // AbortController of the run under way
let presets = [];
let lastPointer = null;

// ---- drawing -------------------------------------------------------------------------------

const attention = new AttentionImage();
let attentionKey = '';
let attentionTime = 0;
let queued = false;

function draw() {
  if (queued) return;
  queued = true;
  requestAnimationFrame(() => { queued = false; if (show) drawAll(); });
}

/** A pen for a canvas, in CSS pixels on any screen. */
function penFor(id) {
  const canvas = byId(id);
  const { clientWidth: w, clientHeight: h } = canvas;
  const scale = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(w * scale) || canvas.height !== Math.round(h * scale)) {
    canvas.width = Math.round(w * scale);
    canvas.height = Math.round(h * scale);
  }
  const pen = canvas.getContext('2d');
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, w, h);
  return { pen, box: { x: 0, y: 0, w, h } };
}

function drawAll() {
  const { scene, wardrobe: { theme } } = show;
  const ball = penFor('ball');
  places = drawBall(ball.pen, ball.box, show, view);
  const line = penFor('timeline');
  drawStaircase(line.pen, line.box, scene, view, theme);
  const eaten = penFor('consumption');
  drawConsumption(eaten.pen, eaten.box, scene, view, theme);
  drawAttention(scene, theme);
  byId('reset-view').hidden = !view.turn && view.zoom === 1 && !view.pan[0] && !view.pan[1];
  showMoment(scene, view, timeline.playing);
  showToken(scene, view);
}

function attentionBox(box) {
  const side = Math.min(box.w, box.h);
  return { x: 0, y: 0, w: side, h: side };
}

function drawAttention(scene, theme) {
  const { pen, box } = penFor('attention');
  const area = attentionBox(box);
  const side = Math.floor(area.w * (window.devicePixelRatio || 1));
  const key = `${view.u} ${view.group} ${side}`;
  // Many tokens have many pairs: while they move, the image may lag a little.
  const late = performance.now() - attentionTime < (scene.n > 150 ? 90 : 0) * (1 + scene.n / 500);
  if (key !== attentionKey && !(late && timeline.playing)) {
    attention.update(scene, view.u, view.group, side, theme);
    attentionKey = key;
    attentionTime = performance.now();
  }
  attention.draw(pen, area, scene, view, theme);
}

// The theme is the reader's, not the view's: it stays out of links.
function chosenTheme() {
  try { return localStorage.getItem('parkade-theme'); } catch { return null; }
}

function restyle(name = chosenTheme() ?? (darkness.matches ? 'dark' : 'light')) {
  root.dataset.theme = name;
  explainAttention(null);
  if (!show) return;
  show.wardrobe = new Wardrobe(show.scene, themeColors(name === 'dark'));
  attentionKey = '';
  draw();
}

function switchTheme() {
  const next = root.dataset.theme === 'dark' ? 'light' : 'dark';
  try { localStorage.setItem('parkade-theme', next); } catch { /* a file may have no storage */ }
  restyle(next);
}

// ---- state and link ------------------------------------------------------------------------

const linkNow = () => writeLink(settings, view, show ? show.scene.time(view.u) : wishedTime, base);
const steps = new Steps(() => restore());

function showSteps() {
  byId('undo').disabled = !steps.canUndo;
  byId('redo').disabled = !steps.canRedo;
}

/** A step that undo takes back. */
function commit() {
  steps.push(linkNow());
  showSteps();
}

let keeping = null;

/** Only the view has moved on: the address follows when it has come to rest. */
function remember() {
  clearTimeout(keeping);
  keeping = setTimeout(() => steps.keep(linkNow()), 250);
}

/** Back or forward was pressed: the address is the truth. */
function restore() {
  clearTimeout(keeping);
  timeline.pause();
  clearTimeout(keeping);
  const past = parseLink(location.hash, base);
  view = past.view;
  wishedTime = past.t;
  showToggles();
  showSteps();
  const same = Object.keys(DEFAULTS).every((key) => past.settings[key] === settings[key]);
  if (own || (same && show)) {
    settings = past.settings;
    placeInTime();
    draw();
    return;
  }
  settings = past.settings;
  controls?.show(settings);
  showPreset();
  compute();
}

function placeInTime() {
  if (wishedTime !== null) view.u = show.scene.moment(Math.min(wishedTime, show.scene.end));
}

// ---- running -------------------------------------------------------------------------------

let hurry = null;

/** New settings from the controls; while a slider moves, a short rest starts the run. */
function change(next, done) {
  if (next.d !== settings.d) {
    view.turn = null;
    view.zoom = 1;
    view.pan = [0, 0];
  }
  if (show && wishedTime === null) wishedTime = view.u >= 1 ? null : show.scene.time(view.u);
  atEnd = atEnd || Boolean(show && view.u >= 1);
  settings = next;
  showPreset();
  clearTimeout(hurry);
  if (done) {
    commit();
    compute();
  } else hurry = setTimeout(compute, 60);
}

let atEnd = false;
let computed = ''; // settings of the scene shown or under way

async function compute(options = {}) {
  clearTimeout(hurry);
  const wanted = JSON.stringify(settings);
  if (wanted === computed && !options.again) return;
  computed = wanted;
  run?.abort();
  const mine = new AbortController();
  run = mine;
  root.dataset.state = 'computing';
  const slow = setTimeout(() => showProgress(null), SLOW);
  try {
    const data = await fetchScene(settings, {
      signal: mine.signal,
      onProgress: (share) => { if (!byId('progress').hidden) showProgress(share); else lastShare = share; },
      onNote: (note) => { showProgress(null); byId('progress-text').textContent = note; },
    });
    if (run !== mine) return;
    controls.complain(null);
    present(new Scene(data), options.play);
  } catch (error) {
    if (run !== mine) return;
    computed = '';
    root.dataset.state = show ? 'ready' : 'error';
    if (error.name === 'AbortError') return;
    if (!(error instanceof Refusal)) throw error;
    root.dataset.state = 'error';
    controls.complain(error.message, error.field);
    if (!error.field) say(error.message);
  } finally {
    clearTimeout(slow);
    if (run === mine) {
      run = null;
      hideProgress();
    }
  }
}

let lastShare = 0;

function showProgress(share) {
  lastShare = share ?? lastShare;
  byId('progress').hidden = false;
  byId('ball').classList.add('stale');
  const percentage = Math.round(100 * lastShare);
  byId('progress-bar').style.width = `${percentage}%`;
  byId('progress-bar').setAttribute('aria-valuenow', String(percentage));
  if (share !== null) byId('progress-text').textContent = `computing… ${percentage} %`;
}

function hideProgress() {
  lastShare = 0;
  byId('progress').hidden = true;
  byId('progress-text').textContent = 'computing…';
  byId('ball').classList.remove('stale');
}

function cancel() {
  const mine = run;
  run = null;
  mine?.abort();
  computed = '';
  hideProgress();
  root.dataset.state = show ? 'ready' : 'error';
  toast('Cancelled.');
}

function say(sentence) {
  byId('message').textContent = sentence ?? '';
  byId('message').hidden = !sentence;
}

/** A scene has come: show it, where the reader was in time. */
function present(scene, play) {
  const fresh = show === null;
  show = { scene, paths: pathVertices(scene), wardrobe: new Wardrobe(scene, themeColors(root.dataset.theme === 'dark')) };
  attentionKey = '';
  say(null);
  if (play || (fresh && wishedTime === null)) view.u = calm.matches ? 1 : 0;
  else if (atEnd) view.u = 1;
  else placeInTime();
  if (scene.count === 1) view.u = 1;
  atEnd = false;
  const moving = (play || (fresh && wishedTime === null)) && !calm.matches && scene.count > 1;
  wishedTime = null;
  if (view.token !== null && view.token >= scene.n) view.token = null;
  view.hover = null;
  showTip(scene, view, null);
  byId('token').max = String(scene.n);
  byId('frozen-key').hidden = !scene.frozen.length;
  byId('show-caps').disabled = scene.d > 3;
  byId('show-caps').title = scene.d > 3 ? 'Caps cannot be drawn along principal axes' : '';
  byId('axes-note').hidden = !scene.axes;
  if (scene.axes) {
    const share = scene.axes.variance.reduce((a, b) => a + b, 0);
    byId('axes-note').textContent = `${scene.d} dimensions, seen along their three principal axes: ${percent(share)} of the variance`;
  }
  byId('ball').setAttribute('aria-label', `${scene.n} tokens on the ${scene.d === 2 ? 'circle' : 'sphere'}. Arrow keys turn it, J and K choose a token.`);
  showTheory(scene);
  showStatus(scene);
  if (own) showFacts(scene);
  root.dataset.state = 'ready';
  timeline.renew();
  drawAll();
  if (moving) timeline.play();
  else remember();
  told.resolve();
}

// ---- what the reader does ------------------------------------------------------------------

const timeline = new Timeline(byId('timeline'), {
  view: () => view,
  scene: () => show?.scene,
  moved: draw,
  done: remember,
  playing(flag) {
    byId('time').dataset.playing = String(flag);
    byId('play').setAttribute('aria-label', flag ? 'Pause' : 'Play');
  },
});

const gestures = new Gestures(byId('ball'), {
  view: () => view,
  scene: () => show.scene,
  places: () => places,
  changed: draw,
  done: remember,
  hovered(token, event) {
    lastPointer = event ?? lastPointer;
    if (!show || (token === view.hover && token === null)) return;
    view.hover = token;
    showTip(show.scene, view, event);
    draw();
  },
  chosen: (token) => choose(token === view.token ? null : token),
});

function choose(token) {
  view.token = token;
  if (show) draw();
  remember();
}

function setColor(color) {
  view.color = color;
  showToggles();
  draw();
  commit();
}

function toggle(name) {
  if (byId(`show-${name}`).disabled) return;
  view[name] = !view[name];
  showToggles();
  draw();
  commit();
}

function showToggles() {
  for (const name of Object.keys(TOGGLES)) byId(`show-${name}`).setAttribute('aria-pressed', String(view[name]));
  for (const color of ['cluster', 'position']) byId(`color-${color}`).setAttribute('aria-checked', String(view.color === color));
}

function resetView() {
  Object.assign(view, { turn: null, zoom: 1, pan: [0, 0] });
  draw();
  remember();
}

async function copyLink() {
  steps.keep(linkNow());
  try {
    await navigator.clipboard.writeText(location.href);
    toast('The link to this view is copied.');
  } catch {
    toast('The link to this view is in the address bar.');
  }
}

function attentionAt(event) {
  const canvas = byId('attention');
  const box = canvas.getBoundingClientRect();
  return attention.pick(attentionBox({ w: box.width, h: box.height }), event.clientX - box.left, event.clientY - box.top, show.scene.n);
}

function explainAttention(event) {
  const pair = event && show ? attentionAt(event) : null;
  const text = byId('attention-text');
  if (!pair) {
    if (show && view.hover !== null) { view.hover = null; draw(); }
    text.replaceChildren('Row ', make('i', { textContent: 'k' }), ': whom token ', make('i', { textContent: 'k' }), ' attends to; darker is more.');
    if (root.dataset.theme === 'dark') text.lastChild.textContent = ' attends to; brighter is more.';
    return;
  }
  const [k, j] = pair;
  const { scene } = show;
  const weight = scene.attentionRow(scene.tokensAt(view.u), k, new Float64Array(scene.n))[j];
  view.hover = k;
  const hidden = scene.mask === 'causal' && j > k && !scene.frozenSet.has(j);
  text.textContent = hidden ? `${tokenName(j)} comes after ${tokenName(k)}, which cannot see it.` : `${tokenName(k)} attends to ${tokenName(j)} by ${percent(weight)}.`;
  draw();
}

// ---- downloads -----------------------------------------------------------------------------

const fileName = (ending) => `parkade-${settings.mask === 'full' ? 'full-' : ''}n${show.scene.n}-d${show.scene.d}-beta${show.scene.beta}.${ending}`;

function offer(blob, name) {
  const address = URL.createObjectURL(blob);
  make('a', { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

let recording = null;

async function download(kind) {
  byId('downloads').open = false;
  if (!show) return;
  try {
    if (kind === 'png') offer(await figurePng(show, view), fileName('png'));
    else if (kind === 'svg') offer(figureSvg(show, view), fileName('svg'));
    else if (kind === 'video' || kind === 'gif') await film(kind);
    else {
      toast(kind === 'npz' ? 'Fetching the run…' : 'Writing the page…');
      offer(await fetchFile(kind, settings), fileName(kind));
      toast(kind === 'npz' ? 'The run is saved: load it with parkade.load.' : 'The page is saved: it plays offline, from a file.');
    }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    toast(error.message);
  }
}

async function film(kind) {
  if (kind === 'video' && !videoType()) {
    toast('This browser cannot record video; take the GIF instead.');
    return;
  }
  recording?.abort();
  recording = new AbortController();
  timeline.pause();
  const record = kind === 'video' ? recordVideo : recordGif;
  const hear = (share) => {
    showProgress(share);
    byId('ball').classList.remove('stale');
    byId('progress-text').textContent = `recording… ${Math.round(100 * share)} %`;
  };
  const blob = await record(show, { ...view }, timeline.speed, recording.signal, hear);
  recording = null;
  hideProgress();
  if (blob) offer(blob, fileName(kind === 'gif' ? 'gif' : blob.type.split('/')[1]));
}

// ---- presets -------------------------------------------------------------------------------

const sameSettings = (a, b) => Object.keys(DEFAULTS).every((key) => a[key] === b[key]);

function showPreset() {
  const found = presets.find((preset) => sameSettings({ ...DEFAULTS, ...preset.settings }, settings));
  byId('preset').value = found?.name ?? '';
  byId('about').textContent = found?.about ?? '';
}

function takePreset(name) {
  const preset = presets.find((p) => p.name === name);
  if (!preset) return;
  timeline.pause();
  settings = { ...DEFAULTS, ...preset.settings };
  const { color, trails, renyi, strong, caps, names, group } = view;
  view = { ...freshView(), color, trails, renyi, strong, caps, names, group };
  wishedTime = 0;
  controls.show(settings);
  showPreset();
  commitSettings();
  wishedTime = null;
  compute({ play: true, again: true });
}

/** The step's link before its scene has come: at its start. */
function commitSettings() {
  steps.push(writeLink(settings, view, null, base));
  showSteps();
}

async function loadPresets() {
  try {
    presets = await fetchPresets();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return;
  }
  byId('preset').append(...presets.map(({ name, title }) => make('option', { value: name, textContent: title })));
  showPreset();
}

// ---- beginning -----------------------------------------------------------------------------

root.dataset.mode = own ? 'file' : 'live';
const told = {};
const ready = new Promise((resolve) => { told.resolve = resolve; });
const controls = own ? null : new Controls(settings, change);

const press = (id, action) => byId(id).addEventListener('click', action);
press('play', () => timeline.toggle());
press('previous', () => timeline.hop(-1));
press('next', () => timeline.hop(1));
press('undo', () => steps.undo());
press('redo', () => steps.redo());
press('link', copyLink);
press('theme', switchTheme);
press('help-open', () => byId('help').showModal());
press('cancel', () => (recording ? recording.abort() : cancel()));
press('reset-view', resetView);
press('token-clear', () => choose(null));
for (const name of Object.keys(TOGGLES)) press(`show-${name}`, () => toggle(name));
for (const color of ['cluster', 'position']) press(`color-${color}`, () => setColor(color));
for (const kind of ['png', 'svg', 'video', 'gif', 'npz', 'html']) press(`download-${kind}`, () => download(kind));
byId('preset').addEventListener('change', (event) => takePreset(event.target.value));
byId('speed').addEventListener('change', (event) => { timeline.speed = Number(event.target.value); });
byId('token').addEventListener('input', (event) => {
  const k = Number(event.target.value);
  choose(event.target.value !== '' && Number.isInteger(k) && k >= 1 && show && k <= show.scene.n ? k - 1 : null);
});
byId('attention').addEventListener('pointermove', explainAttention);
byId('attention').addEventListener('pointerleave', () => explainAttention(null));
byId('attention').addEventListener('click', (event) => { const pair = show && attentionAt(event); if (pair) choose(pair[0]); });
document.addEventListener('pointerdown', (event) => { if (!byId('downloads').contains(event.target)) byId('downloads').open = false; });
darkness.addEventListener('change', () => restyle());
new ResizeObserver(draw).observe(byId('ball-box'));
new ResizeObserver(draw).observe(byId('attention-box'));
new ResizeObserver(draw).observe(byId('timeline-box'));

listenToKeys({
  space: () => timeline.toggle(),
  frame: (step) => show && timeline.frame(step),
  hop: (step) => show && timeline.hop(step),
  end: (u) => show && timeline.jump(u),
  token(step) {
    if (!show) return;
    const { n } = show.scene;
    choose(view.token === null ? (step > 0 ? 0 : n - 1) : (view.token + step + n) % n);
    byId('summary').textContent = byId('token-text').textContent;
  },
  none() { view.hover = null; choose(null); byId('downloads').open = false; },
  zoom: (factor) => show && gestures.zoomMiddle(factor),
  reset: resetView,
  color: () => setColor(view.color === 'cluster' ? 'position' : 'cluster'),
  toggle,
  theme: switchTheme,
  link: copyLink,
  undo: () => steps.undo(),
  redo: () => steps.redo(),
  help: () => byId('help').showModal(),
});

window.parkade = {
  ready,
  get scene() { return show?.scene ?? null; },
  get settings() { return { ...settings }; },
  get view() { return { ...view }; },
  get t() { return show ? show.scene.time(view.u) : null; },
  get playing() { return timeline.playing; },
  get places() { return places; },
  goTo(t) { timeline.jump(show.scene.moment(t)); },
  async idle() {
    do {
      await new Promise((resolve) => { setTimeout(resolve, 80); });
      await new Promise((resolve) => { requestAnimationFrame(resolve); });
    } while (run !== null || (queued && !timeline.playing));
  },
};

restyle();
showToggles();
showSteps();
if (own) present(new Scene(own), false);
else {
  loadPresets();
  compute();
}
