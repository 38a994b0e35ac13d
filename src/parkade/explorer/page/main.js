// The explorer: creates the parts of the page and connects them.
//
// The page is made of ES modules that the export puts into one script, so they keep to
//   import { a, b } from './x.js';   export const / function / class   one name each,
// without cycles, default exports, dynamic imports, top-level await or import.meta.
//
// A page from the server asks for the schema: the settings, their ranges, defaults and labels.
// An exported file carries its scene in <script type="application/json" id="scene"> and needs
// nothing else. It has <html data-mode="file">, and shows nothing that needs a server.
//
// For tests and for the curious, window.parkade has
//   ready      Promise of the first scene being drawn
//   scene      the Scene shown (null before), settings (those shown or being computed)
//   view       u, turn, zoom, pan, color, trails, renyi, strong, caps, names, notes, group, token, hover
//   t          the time shown; goTo(t) sets it;  playing
//   idle()     Promise of no run or undo under way and everything drawn
//   beside     the Scene beside it, or null
//   many       the staircases of other seeds: [{ seen, foretold }]; meanOfMany(kind, t)
//   plateauNames  where the time line names its plateaus: x, y, width, start
//   places     screen position of each token on #ball: x, y, depth (CSS pixels), n × 3
// <html> has data-state = "computing" | "ready" | "stale" | "error" and data-stale = "true" where the picture is of
// other settings than the controls; data-theme, data-mode; #time has data-playing.
// A control has the id of its setting: a number also NAME-slider, a seed NAME-next, a choice
// NAME-VALUE, a matrix the entries NAME-0, NAME-0-1, NAME-seed or NAME-text. Errors appear in
// NAME-error, form-error or message.

import { byId } from './dom.js';
import { Beside } from './beside.js';
import { AttentionPanel } from './attention.js';
import { Downloads } from './downloads.js';
import { showEquation } from './equation.js';
import { Gestures } from './gestures.js';
import { Legend } from './legend.js';
import { Live } from './live.js';
import { showFacts } from './panels.js';
import { opens } from './link.js';
import { calm, present, say } from './present.js';
import { Many } from './many.js';
import { Progress } from './progress.js';
import { Recorded } from './recorded.js';
import { Scene } from './scene.js';
import { Screen } from './screen.js';
import { Selection } from './selection.js';
import { Refusal, fetchSchema } from './server.js';
import { State } from './state.js';
import { Theme } from './theme.js';
import { Timeline } from './timeline.js';
import { TimeTip } from './timetip.js';
import { Talk } from './talk.js';
import { Tour } from './tour.js';
import { Undo } from './undo.js';
import { wire } from './wiring.js';

const root = document.documentElement;

/** Create the parts of the page; `own` is the data of an exported file's scene. */
function create(fields, own, recorded) {
  const defaults = Object.fromEntries(fields.map((field) => [field.name, field.default]));
  const state = new State(fields, own ? own.settings ?? {} : defaults, own ? `#${byId('scene').dataset.view ?? ''}` : '');
  const shared = {
    view: () => state.view,
    scene: () => state.scene,
    changed: () => screen.draw(),
    done: () => undo.remember(),
  };
  const screen = new Screen(state, {
    attention: () => attention,
    playing: () => timeline.playing,
    beside: () => beside,
    others: () => ({ lines: [...many.lines(), ...beside.lines()], drawKey: (...where) => many.drawKey(...where) }),
    many: () => many,
  });
  const theme = new Theme(() => {
    attention.renew();
    screen.recolor(theme.dark);
    beside.recolor();
  });
  const undo = new Undo(state, () => restore());
  const selection = new Selection(state, shared);
  const legend = new Legend(state, { changed() { screen.draw(); undo.commit(); } });
  const timeline = new Timeline(byId('timeline'), {
    ...shared,
    names: () => state.plateauNames,
    playing(flag) {
      byId('time').dataset.playing = String(flag);
      byId('play').setAttribute('aria-label', flag ? 'Pause' : 'Play');
    },
  });
  new TimeTip(byId('timeline'), shared);
  const gestures = new Gestures(byId('ball'), {
    ...shared,
    places: () => state.places,
    hovered: (token, event) => selection.hover(token, event),
    chosen: (token) => selection.toggle(token),
  });
  const attention = new AttentionPanel({
    ...shared,
    pointed: (token) => selection.hover(token),
    chosen: (token) => selection.choose(token),
  });
  const progress = new Progress('progress', 'computing…');
  const downloads = new Downloads(state, new Progress('recording', 'recording…'), timeline);
  const first = {};
  const ready = new Promise((resolve) => { first.resolve = resolve; });
  const show = (scene, play) => {
    present(state, scene, play, { theme, attention, screen, timeline, undo });
    beside.renew();
    many.renew();
    first.resolve();
  };
  const beside = new Beside(state, {
    dark: () => theme.dark,
    changed: () => screen.draw(),
    commit: () => undo.commit(),
  }, !own);
  const many = new Many(state, new Progress('seeds', 'other seeds'), { changed: () => screen.draw(), commit: () => undo.commit() });
  const live = own ? null : new Live(state, progress, {
    pause: () => timeline.pause(),
    commit: (link) => undo.commit(link),
    present: show,
  });

  const tour = new Tour(state, {
    recorded: (name) => recorded.get(name),
    take(scene, view, t) {
      timeline.pause();
      state.settings = { ...scene.settings };
      state.settled = state.settings;
      Object.assign(state.view, view);
      state.resetView();
      state.linkedTime = t;
      state.beside = null;
      state.many = false;
      legend.show();
      show(scene, false);
      live?.restored();
    },
    compare: (scene, names) => beside.put(scene, names),
    play(t) {
      const until = state.scene.moment(t);
      if (calm.matches) timeline.jump(until);
      else timeline.play(until);
    },
    commit: () => undo.commit(),
    left(known) {
      beside.renew();
      if (!known) undo.commit();
      screen.draw();
    },
  }, (name) => recorded.has(name));

  const talk = new Talk(state, {
    scene: () => state.scene,
    calm: () => calm.matches,
    timeline,
    tour,
    changed() { screen.draw(); undo.remember(); },
  });

  /** Undo, redo, back or forward: the address has the state. */
  function restore() {
    timeline.pause();
    undo.stopTimer();
    state.readLink();
    talk.follow();
    if (state.tour !== null) {
      tour.go(state.tour, true);
      return;
    }
    tour.leave(true);
    legend.show();
    if (state.show && !state.stale) {
      state.view.u = state.scene.moment(state.linkedTime ?? Infinity);
      beside.renew();
      many.follow();
      state.linkedTime = null;
      screen.draw();
    }
    live?.restored();
  }

  wire(state, { theme, undo, screen, timeline, gestures, selection, legend, downloads, live, tour });
  theme.apply();
  return { state, ready, screen, timeline, undo, live, beside, many, talk, tour, show };
}

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
  goTo(t) { page.parts.timeline.jump(page.parts.state.scene.moment(t)); },
  async idle() {
    const { beside, live, screen, timeline, tour, undo } = page.parts;
    do {
      await new Promise((resolve) => { setTimeout(resolve, 80); });
      await new Promise((resolve) => { requestAnimationFrame(resolve); });
    } while (live?.busy || tour.busy || beside.busy || undo.moving || (screen.waiting && !timeline.playing));
  },
};

function begin(fields, own, recorded) {
  page.parts = create(fields, own, recorded);
  page.created(page.parts);
}

/** Go to the step of the tour that the address names, and present it if it says so. */
function beginTour() {
  const { state, talk, tour } = page.parts;
  talk.follow();
  if (state.tour !== null) tour.go(state.tour, true);
}

function startFile(own) {
  root.dataset.mode = 'file';
  begin([], own, new Recorded([...document.querySelectorAll('[data-recorded]')]));
  page.parts.show(new Scene(own), false);
  root.dataset.state = 'ready';
  showFacts(own);
  beginTour();
}

async function startLive() {
  root.dataset.mode = 'live';
  try {
    const recorded = new Recorded(null);
    const opening = opens(location.hash) ? recorded.get('life') : null;
    const [{ fields, equation }, life] = await Promise.all([fetchSchema(), opening]);
    showEquation(equation);
    begin(fields, null, recorded);
    page.parts.live.start(life);
    beginTour();
  } catch (error) {
    root.dataset.state = 'error';
    if (!(error instanceof Refusal)) throw error;
    say(error.message);
  }
}

const inlined = byId('scene');
if (inlined) startFile(JSON.parse(inlined.textContent));
else startLive();
