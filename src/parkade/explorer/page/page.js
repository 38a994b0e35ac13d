// The parts of the page, connected with each other.

import { AttentionPanel } from './panels/attention.js';
import { Beside } from './panels/beside.js';
import { byId } from './dom.js';
import { Downloads } from './files/downloads.js';
import { Gestures } from './controls/gestures.js';
import { Legend } from './controls/legend.js';
import { Live } from './runs.js';
import { Many } from './panels/many.js';
import { calm, present } from './present.js';
import { Progress } from './controls/progress.js';
import { Screen } from './draw/screen.js';
import { Selection } from './controls/selection.js';
import { State } from './state.js';
import { Talk } from './tour/talk.js';
import { Theme } from './draw/theme.js';
import { Timeline } from './controls/playing.js';
import { TimeTip } from './controls/timetip.js';
import { Tour } from './tour/tour.js';
import { Undo } from './controls/undo.js';
import { wire } from './controls/wiring.js';

/**
 * Create the parts of the page. `source` is where scenes come from (server.js), `fields` are those of its schema, or
 * none if it has recorded scenes only, `own` is the data of the scene that a file carries, or null, and `recorded` are
 * the recorded scenes.
 */
export function create(source, fields, own, recorded) {
  const defaults = Object.fromEntries(fields.map((field) => [field.name, field.default]));
  const state = new State(fields, own ? own.settings ?? {} : defaults, own ? `#${byId('scene')?.dataset.view ?? ''}` : '');
  const computes = fields.length > 0;
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
    others: () => ({ lines: [...many.lines(), ...beside.lines()], drawKeys: (...where) => many.drawKeys(...where) }),
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
  const downloads = new Downloads(state, source, new Progress('recording', 'recording…'), timeline);
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
  }, computes ? source : null);
  const many = new Many(state, source, new Progress('seeds', 'other seeds'), { changed: () => screen.draw(), commit: () => undo.commit() });
  const live = !computes ? null : new Live(state, source, progress, {
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
    if (state.show) state.linkedTime ??= Infinity; // an address without a time means the end
    if (state.show && !state.stale) {
      state.checkToken();
      state.view.u = state.scene.moment(state.linkedTime);
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
