// The explorer: finds out where its scenes come from, and begins.
//
// The page is made of ES modules that the export puts into one script, so they keep to
//   import { a, b } from './x.js';   export const / function / class   one name each,
// without cycles, default exports, dynamic imports, top-level await or import.meta.
//
// A page from the server asks it for the schema: the settings, their ranges, defaults and labels. An exported file
// carries its scene in <script type="application/json" id="scene"> and needs nothing else: it has
// <html data-mode="file"> and no controls. A page with <html data-live="file" | "folder"> has engines with it, and
// computes by itself: inside of one file, or in files of its folder.
//
// For tests and for the curious, window.parkade has
//   ready      Promise of the first scene being drawn
//   scene      the Scene shown (null before), settings (those shown or being computed)
//   view       u, turn, zoom, pan, color, trails, renyi, strong, caps, names, notes, group, token, hover
//   t          the time shown; goTo(t) sets it;  playing
//   show(data) shows another scene, as data of the form that a file carries
//   idle()     Promise of no run or undo under way and everything drawn
//   beside     the Scene beside it, or null
//   many       the staircases of other seeds: [{ seen, forecast }]; meanOfMany(kind, t)
//   plateauNames  where the time line names its plateaus: x, y, width, start
//   memory     bytes of memory of the engines in each Worker of a page that computes by itself
//   places     screen position of each token on #ball: x, y, depth (CSS pixels), n × 3
// <html> has data-state = "computing" | "ready" | "stale" | "error" and data-stale = "true" where the picture is of
// other settings than the controls; data-theme, data-mode; #time has data-playing.
// A control has the id of its setting: a number also NAME-slider, a seed NAME-next, a choice
// NAME-VALUE, a matrix the entries NAME-0, NAME-0-1, NAME-seed or NAME-text. Errors appear in
// NAME-error, form-error or message.

import { lacking } from './compute/ability.js';
import { Folder, Inside } from './compute/carried.js';
import { byId } from './dom.js';
import { showEquation } from './panels/equation.js';
import { opens } from './controls/link.js';
import { Local } from './compute/local.js';
import { showFacts } from './panels/panels.js';
import { create } from './page.js';
import { say } from './present.js';
import { Recorded } from './tour/recorded.js';
import { Refusal } from './refusal.js';
import { Scene } from './scene.js';
import { Server } from './server.js';

const root = document.documentElement;

const page = {};
const created = new Promise((resolve) => { page.created = resolve; });

window.parkade = {
  ready: created.then(({ ready }) => ready),
  get scene() { return page.parts?.state.scene ?? null; },
  get settings() { return { ...page.parts.state.settings }; },
  get view() { return { ...page.parts.state.view }; },
  get t() { return page.parts.state.time; },
  get playing() { return page.parts.timeline.playing; },
  get places() { return page.parts.state.places; },
  get beside() { return page.parts.beside.shown?.scene ?? null; },
  get many() { return page.parts.many.runs; },
  meanOfMany: (kind, t) => page.parts.many.mean(kind, t),
  get plateauNames() { return page.parts.state.plateauNames; },
  get memory() { return page.source.memory; },
  show(data) { page.parts.show(new Scene(data), false); },
  goTo(t) { page.parts.timeline.jump(page.parts.state.scene.moment(t)); },
  async idle() {
    const { beside, live, screen, timeline, tour, undo } = page.parts;
    do {
      await new Promise((resolve) => { setTimeout(resolve, 80); });
      // Observers of sizes, which may ask for another picture, are called at the end of a frame.
      for (let i = 0; i < 2; i += 1) await new Promise((resolve) => { requestAnimationFrame(resolve); });
    } while (live?.busy || tour.busy || beside.busy || undo.moving || (screen.waiting && !timeline.playing));
  },
};

function begin(source, fields, own, recorded) {
  page.source = source;
  page.parts = create(source, fields, own, recorded);
  page.created(page.parts);
}

/** Go to the step of the tour that the address names, and present it if it says so. */
function beginTour() {
  const { state, talk, tour } = page.parts;
  talk.follow();
  if (state.tour !== null) tour.go(state.tour, true);
}

/** A page that only plays. */
function startFile(carried, own) {
  root.dataset.mode = 'file';
  begin(carried, [], own, new Recorded(carried));
  page.parts.show(new Scene(own), false);
  root.dataset.state = 'ready';
  showFacts(own);
  beginTour();
}

/** A page that computes; `own` is the data of the scene it carries, or null. */
async function startLive(source, own) {
  root.dataset.mode = 'live';
  const recorded = new Recorded(source);
  const wanted = !own && opens(location.hash) ? recorded.get('life') : null;
  const [{ fields, equation }, opening] = await Promise.all([source.schema(), wanted]);
  showEquation(equation);
  begin(source, fields, own, recorded);
  const { state, live } = page.parts;
  live.start(own && state.isChosen(own.settings) ? new Scene(own) : opening);
  beginTour();
}

/** A page with engines; in a browser that cannot run them it plays what is recorded. */
async function startLocal() {
  const carried = root.dataset.live === 'file' ? new Inside() : new Folder();
  const lacks = lacking();
  const own = await carried.own();
  if (!lacks) await startLive(new Local(carried), own);
  else {
    startFile(carried, own ?? await carried.recorded('life'));
    byId('lacks').textContent = lacks;
    byId('lacks').hidden = false;
  }
}

async function start() {
  try {
    if (root.dataset.live) await startLocal();
    else if (byId('scene')) startFile(new Inside(), JSON.parse(byId('scene').textContent));
    else await startLive(new Server(), null);
  } catch (error) {
    root.dataset.state = 'error';
    if (!(error instanceof Refusal)) throw error;
    say(error.message);
  }
}

start();
