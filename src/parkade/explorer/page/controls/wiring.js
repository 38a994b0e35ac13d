// Buttons and keys, and what they do.

import { byId } from '../dom.js';
import { listenToKeys } from './keys.js';
import { toast } from '../panels/panels.js';

/** Connect the buttons and the keys of the page with its parts. */
export function wire(state, parts) {
  const { theme, undo, screen, timeline, gestures, selection, legend, downloads, live, tour } = parts;

  const resetView = () => {
    state.resetView();
    screen.draw();
    undo.remember();
  };

  const copyLink = async () => {
    undo.rememberNow();
    // While the controls are ahead of the picture, the address is theirs.
    const link = new URL(state.linkOfPicture(), location.href).href;
    try {
      await navigator.clipboard.writeText(link);
      toast('The link to this view is copied.');
    } catch {
      toast(state.stale ? 'The link could not be copied.' : 'The link to this view is in the address bar.');
    }
  };

  const cancel = (task) => () => {
    task.cancel();
    toast('Cancelled.');
  };

  const help = () => byId('help').showModal();
  const ifShown = (action) => (...values) => state.show && action(...values);
  const hop = ifShown((step) => timeline.hop(step));

  const press = (id, action) => byId(id).addEventListener('click', action);
  press('play', () => timeline.toggle());
  press('previous', () => hop(-1));
  press('next', () => hop(1));
  press('undo', () => undo.undo());
  press('redo', () => undo.redo());
  press('link', copyLink);
  press('theme', () => theme.switch());
  press('help-open', help);
  if (live) press('cancel', cancel(live));
  press('recording-cancel', cancel(downloads));
  press('reset-view', resetView);
  // A real jump would change the address, which holds the state.
  press('skip', (event) => { event.preventDefault(); byId('ball').focus(); });
  byId('speed').addEventListener('change', (event) => { timeline.speed = Number(event.target.value); });
  document.addEventListener('pointerdown', (event) => {
    if (!byId('downloads').contains(event.target)) byId('downloads').open = false;
  });

  listenToKeys({
    space: () => timeline.toggle(),
    frame: ifShown((step) => timeline.frame(step)),
    hop,
    end: ifShown((u) => timeline.jump(u)),
    token: (way) => selection.step(way),
    none() {
      if (tour.on) tour.leave();
      selection.clear();
      const menu = byId('downloads');
      if (menu.open && menu.contains(document.activeElement)) menu.querySelector('summary').focus();
      menu.open = false;
    },
    step(way) {
      if (tour.on) tour.go(state.tour + way);
    },
    zoom: ifShown((factor) => gestures.zoomMiddle(factor)),
    reset: resetView,
    color: () => legend.otherColor(),
    toggle: (name) => legend.toggle(name),
    theme: () => theme.switch(),
    link: copyLink,
    undo: () => undo.undo(),
    redo: () => undo.redo(),
    help,
  });
}
