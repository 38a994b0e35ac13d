// Puts a scene on the page: at the time the reader looked at before, or from its start.

import { byId } from './dom.js';
import { TokenColors, pathVertices } from './draw/look.js';
import { themeColors } from './draw/palette.js';
import { showScene } from './panels/panels.js';
import { showTip } from './panels/token.js';

export const calm = matchMedia('(prefers-reduced-motion: reduce)');

/** Say something in the middle of the picture, or nothing. */
export function say(sentence) {
  byId('message').textContent = sentence ?? '';
  byId('message').hidden = !sentence;
}

/** Show a scene; `parts` are the theme, the attention panel, the screen, the timeline and undo. */
export function present(state, scene, play, parts) {
  const { theme, attention, screen, timeline, undo } = parts;
  const { view } = state;
  const opening = state.show === null;
  const begins = play || (state.show === null && state.linkedTime === null);
  const moving = begins && !calm.matches && scene.count > 1;
  const here = state.linkedTime ?? (state.show && view.u < 1 ? state.time : Infinity);
  state.linkedTime = null;
  view.u = scene.moment(moving ? 0 : begins ? Infinity : here);
  state.show = {
    scene,
    settings: scene.settings ?? state.settings,
    paths: pathVertices(scene),
    colors: new TokenColors(scene, themeColors(theme.dark)),
  };
  state.checkToken();
  view.hover = null;
  attention.offerHeads(scene);
  attention.renew();
  say(null);
  showTip(scene, view, null);
  showScene(scene);
  timeline.renew();
  screen.drawNow();
  // A link may lead to a place of the picture where there is nothing.
  if (opening && !screen.seesTokens()) {
    state.resetView();
    screen.drawNow();
  }
  if (moving) timeline.play();
  else undo.remember();
}
