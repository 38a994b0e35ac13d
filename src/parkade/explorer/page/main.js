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
// seed-next, preset; errors stand in FIELD-error, form-error or message. Then: play, previous, next,
// speed, timeline (a slider), t, clusters; color-cluster, color-position, show-trails, show-renyi,
// show-strong, show-caps, show-names, show-group, reset-view; ball, tip, token, token-clear,
// token-text; attention, attention-text; consumption, consumed-renyi, consumed-strong; predicted,
// seen, verdict; progress, progress-bar, cancel; undo, redo, link, theme, help-open, help;
// downloads (details) with download-png, -svg, -video, -gif, -npz, -html; status, summary, toast.

import { byId, make } from './dom.js';
import { Scene } from './scene.js';
import { TRAILS, Wardrobe, pathVertices } from './look.js';
import { themeColors } from './palette.js';
import { drawBall } from './ball.js';
import { drawConsumption, drawStaircase } from './charts.js';
import { AttentionPanel } from './attention.js';
import { Controls } from './controls.js';
import { Gestures } from './gestures.js';
import { Timeline } from './timeline.js';
import { DEFAULTS, Steps, TOGGLES, parseLink, writeLink } from './address.js';
import { Refusal, fetchPresets } from './server.js';
import { Progress } from './progress.js';
import { Runner } from './runner.js';
import { Takeaway } from './takeaway.js';
import { percent, tokenName } from './format.js';
import { showFacts, showMoment, showStatus, showTheory, showTip, showToken, toast } from './panels.js';
import { listenToKeys } from './keys.js';

const root = document.documentElement;
const inlined = byId('scene');
const calm = matchMedia('(prefers-reduced-motion: reduce)');
const darkness = matchMedia('(prefers-color-scheme: dark)');

const own = inlined ? JSON.parse(inlined.textContent) : null;
const base = own ? { ...DEFAULTS, n: own.n, d: own.d, ...own.settings } : DEFAULTS;
const asked = parseLink(location.hash, base);

let { settings } = asked; // as the controls show them, while a slider moves too
let settled = settings; // as the link tells them
let view = asked.view;
let wishedTime = asked.t;
let show = null; // { scene, wardrobe, paths }
let places = new Float64Array(0);
let presets = [];

// ---- drawing -------------------------------------------------------------------------------

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
  attention.draw(penFor('attention'), theme, timeline.playing);
  byId('reset-view').hidden = !view.turn && view.zoom === 1 && !view.pan[0] && !view.pan[1];
  showPositionKey();
  showMoment(scene, view, timeline.playing);
  showToken(scene, view);
}

/** Which colour is early and which is late. */
function showPositionKey() {
  byId('position-key').hidden = view.color !== 'position';
  const { sequence } = show.wardrobe;
  const stops = Array.from({ length: 9 }, (_, i) => sequence[Math.round((i / 8) * (sequence.length - 1))]);
  byId('position-scale').style.background = `linear-gradient(to right, ${stops.join(', ')})`;
  byId('position-last').textContent = tokenName(sequence.length - 1);
}

// The theme is the reader's, not the view's: it stays out of links.
function chosenTheme() {
  try { return localStorage.getItem('parkade-theme'); } catch { return null; }
}

function restyle(name = chosenTheme() ?? (darkness.matches ? 'dark' : 'light')) {
  root.dataset.theme = name;
  attention.renew();
  if (!show) return;
  show.wardrobe = new Wardrobe(show.scene, themeColors(name === 'dark'));
  draw();
}

function switchTheme() {
  const next = root.dataset.theme === 'dark' ? 'light' : 'dark';
  try { localStorage.setItem('parkade-theme', next); } catch { /* a file may have no storage */ }
  restyle(next);
}

// ---- state and link ------------------------------------------------------------------------

const linkNow = () => writeLink(settled, view, show ? show.scene.time(view.u) : wishedTime, base);
const steps = new Steps(() => restore());
let keeping = null;

function showSteps() {
  byId('undo').disabled = !steps.canUndo;
  byId('redo').disabled = !steps.canRedo;
}

/** A step that undo takes back. */
function commit(link = null) {
  clearTimeout(keeping);
  settled = settings;
  steps.push(link ?? linkNow());
  showSteps();
}

/** Only the view has moved on: the address follows when it has come to rest. */
function remember() {
  clearTimeout(keeping);
  keeping = setTimeout(() => steps.keep(linkNow()), 250);
}

/** Back or forward was pressed: the address is the truth. */
function restore() {
  timeline.pause();
  clearTimeout(keeping);
  const past = parseLink(location.hash, base);
  view = past.view;
  settings = past.settings;
  settled = settings;
  showToggles();
  showSteps();
  const shown = show && (own || sameSettings(show.settings, settings));
  if (shown) {
    runner.cancel();
    if (past.t !== null) view.u = show.scene.moment(past.t);
    root.dataset.state = 'ready';
    draw();
  }
  if (own) return;
  controls.show(settings);
  controls.complain(null);
  showPreset();
  if (shown) return;
  wishedTime = past.t;
  compute();
}

const sameSettings = (a, b) => Object.keys(DEFAULTS).every((key) => a[key] === b[key]);

// ---- running -------------------------------------------------------------------------------

let hurry = null;

/** New settings from the controls; while a slider moves, a run begins every now and then. */
function change(next, done) {
  if (next.d !== settings.d) Object.assign(view, { turn: null, zoom: 1, pan: [0, 0] });
  settings = next;
  showPreset();
  if (done) {
    commit();
    compute();
  } else hurry ??= setTimeout(() => compute(), 120);
}

function compute(options) {
  clearTimeout(hurry);
  hurry = null;
  runner.start(settings, options);
}

function say(sentence) {
  byId('message').textContent = sentence ?? '';
  byId('message').hidden = !sentence;
}

const progress = new Progress();
const runner = new Runner(progress, {
  begun() { root.dataset.state = 'computing'; },
  arrived(data, { play }) {
    controls.complain(null);
    present(new Scene(data), play);
  },
  refused(error) {
    root.dataset.state = 'error';
    controls.complain(error.message, error.field);
    if (!error.field || !show) say(error.message);
  },
});

/** A scene has come: show it, where the reader was in time, or from its start. */
function present(scene, play) {
  const begins = play || (show === null && wishedTime === null);
  const moving = begins && !calm.matches && scene.count > 1;
  const here = wishedTime ?? (show && view.u < 1 ? show.scene.time(view.u) : Infinity);
  wishedTime = null;
  view.u = scene.moment(moving ? 0 : begins ? Infinity : here);
  show = {
    scene, settings, paths: pathVertices(scene), wardrobe: new Wardrobe(scene, themeColors(root.dataset.theme === 'dark')),
  };
  if (view.token !== null && view.token >= scene.n) view.token = null;
  view.hover = null;
  attention.renew();
  say(null);
  describe(scene);
  root.dataset.state = 'ready';
  timeline.renew();
  drawAll();
  if (moving) timeline.play();
  else remember();
  told.resolve();
}

function describe(scene) {
  showTip(scene, view, null);
  byId('token').max = String(scene.n);
  byId('frozen-key').hidden = !scene.frozen.length;
  byId('show-caps').disabled = scene.d > 3;
  byId('show-caps').title = scene.d > 3 ? 'Caps cannot be drawn along principal axes' : '';
  byId('show-trails').title = scene.n > TRAILS ? `Trails of every ${Math.ceil(scene.n / TRAILS)}th token` : '';
  byId('axes-note').hidden = !scene.axes;
  if (scene.axes) {
    const share = scene.axes.variance.reduce((a, b) => a + b, 0);
    byId('axes-note').textContent = `${scene.d} dimensions, seen along their three principal axes: ${percent(share)} of the variance`;
  }
  byId('ball').setAttribute('aria-label', `${scene.n} tokens on the ${scene.d === 2 ? 'circle' : 'sphere'}. Arrow keys turn it, J and K choose a token.`);
  showTheory(scene);
  showStatus(scene);
  if (own) showFacts(scene);
}

// ---- presets -------------------------------------------------------------------------------

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
  Object.assign(view, { turn: null, zoom: 1, pan: [0, 0], token: null });
  controls.show(settings);
  showPreset();
  // Its scene has not come: the link does not tell a time yet.
  commit(writeLink(settings, view, null, base));
  compute({ play: true, again: true });
}

async function loadPresets() {
  try {
    presets = await fetchPresets();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return; // the run tells that the server is away
  }
  byId('preset').append(...presets.map(({ name, title }) => make('option', { value: name, textContent: title })));
  showPreset();
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

function hover(token, event = null) {
  if (!show || (token === null && view.hover === null)) return;
  view.hover = token;
  showTip(show.scene, view, event);
  draw();
}

const gestures = new Gestures(byId('ball'), {
  view: () => view,
  scene: () => show?.scene,
  places: () => places,
  changed: draw,
  done: remember,
  hovered: hover,
  chosen: (token) => choose(token === view.token ? null : token),
});

const attention = new AttentionPanel({
  view: () => view, scene: () => show?.scene, pointed: hover, chosen: choose,
});

function choose(token) {
  view.token = token;
  draw();
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
  for (const color of ['cluster', 'position']) byId(`color-${color}`).setAttribute('aria-pressed', String(view.color === color));
}

function resetView() {
  Object.assign(view, { turn: null, zoom: 1, pan: [0, 0] });
  draw();
  remember();
}

async function copyLink() {
  clearTimeout(keeping);
  steps.keep(linkNow());
  try {
    await navigator.clipboard.writeText(location.href);
    toast('The link to this view is copied.');
  } catch {
    toast('The link to this view is in the address bar.');
  }
}

const takeaway = new Takeaway(progress, {
  show: () => show, view: () => view, settings: () => settings, speed: () => timeline.speed, pause: () => timeline.pause(),
});

function cancel() {
  if (!takeaway.cancel()) {
    runner.cancel();
    root.dataset.state = show ? 'ready' : 'error';
  }
  toast('Cancelled.');
}

// ---- beginning -----------------------------------------------------------------------------

root.dataset.mode = own ? 'file' : 'live';
const told = {};
const ready = new Promise((resolve) => { told.resolve = resolve; });
const controls = own ? null : new Controls(settings, change);

const press = (id, action) => byId(id).addEventListener('click', action);
press('play', () => timeline.toggle());
press('previous', () => show && timeline.hop(-1));
press('next', () => show && timeline.hop(1));
press('undo', () => steps.undo());
press('redo', () => steps.redo());
press('link', copyLink);
press('theme', switchTheme);
press('help-open', () => byId('help').showModal());
press('cancel', cancel);
press('reset-view', resetView);
press('token-clear', () => choose(null));
// A real jump would change the address, which is the state.
press('skip', (event) => { event.preventDefault(); byId('ball').focus(); });
for (const name of Object.keys(TOGGLES)) press(`show-${name}`, () => toggle(name));
for (const color of ['cluster', 'position']) press(`color-${color}`, () => setColor(color));
byId('preset').addEventListener('change', (event) => takePreset(event.target.value));
byId('speed').addEventListener('change', (event) => { timeline.speed = Number(event.target.value); });
byId('token').addEventListener('input', (event) => {
  const k = Number(event.target.value);
  choose(event.target.value !== '' && Number.isInteger(k) && k >= 1 && show && k <= show.scene.n ? k - 1 : null);
});
document.addEventListener('pointerdown', (event) => { if (!byId('downloads').contains(event.target)) byId('downloads').open = false; });
darkness.addEventListener('change', () => restyle());
const sizes = new ResizeObserver(draw);
for (const id of ['ball-box', 'attention-box', 'timeline-box']) sizes.observe(byId(id));

listenToKeys({
  space: () => timeline.toggle(),
  frame: (step) => show && timeline.frame(step),
  hop: (step) => show && timeline.hop(step),
  end: (u) => show && timeline.jump(u),
  token(step) {
    if (!show) return;
    const { n } = show.scene;
    choose(view.token === null ? (step > 0 ? 0 : n - 1) : (view.token + step + n) % n);
    showToken(show.scene, view);
    byId('summary').textContent = byId('token-text').textContent;
  },
  none() { hover(null); choose(null); byId('downloads').open = false; },
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
    } while (runner.busy || (queued && !timeline.playing));
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
