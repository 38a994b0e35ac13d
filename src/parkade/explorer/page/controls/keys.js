// Keyboard shortcuts. A field that has the focus keeps its keys.

const TOGGLE_KEYS = { t: 'trails', r: 'renyi', s: 'strong', p: 'caps', n: 'names', a: 'notes', f: 'forecast', v: 'proved', g: 'group' };

const typing = (element) =>
  element.closest('input:not([type="range"]):not([type="radio"]), select, textarea, dialog[open]') !== null;
const pressing = (element) => element.closest('button, summary, input[type="radio"]') !== null;
const sliding = (element) => element.closest('input[type="range"], input[type="radio"]') !== null;

export function listenToKeys(actions) {
  document.addEventListener('keydown', (event) => {
    const { target, key } = event;
    if (!(target instanceof Element) || event.altKey) return;
    if (event.ctrlKey || event.metaKey) {
      const letter = key.toLowerCase();
      // In a text field Ctrl+Z takes back typing.
      if (typing(target)) return;
      if (letter === 'z' && !event.shiftKey) actions.undo();
      else if (letter === 'y' || letter === 'z') actions.redo();
      else return;
      event.preventDefault();
      return;
    }
    if (typing(target)) return;
    const plainKeys = {
      ',': () => actions.frame(-1), '.': () => actions.frame(1),
      '[': () => actions.hop(-1), ']': () => actions.hop(1),
      PageDown: () => actions.step(1), PageUp: () => actions.step(-1),
      j: () => actions.token(1), k: () => actions.token(-1), Escape: actions.none,
      '+': () => actions.zoom(1.25), '=': () => actions.zoom(1.25), '-': () => actions.zoom(0.8), 0: actions.reset,
      c: actions.color, d: actions.theme, l: actions.link, '?': actions.help,
    };
    const name = key.length === 1 ? key.toLowerCase() : key;
    let action = plainKeys[name] ?? (TOGGLE_KEYS[name] && (() => actions.toggle(TOGGLE_KEYS[name])));
    if (key === ' ' && !pressing(target)) action = actions.space;
    if (!sliding(target)) {
      if (key === 'Home') action = () => actions.end(0);
      if (key === 'End') action = () => actions.end(1);
    }
    if (!action) return;
    event.preventDefault();
    action();
  });
}
