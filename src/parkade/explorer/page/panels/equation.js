// The formula of the model, built from the tree of MathML elements that the library sends.

import { byId } from '../dom.js';

const MATHML = 'http://www.w3.org/1998/Math/MathML';
const TAGS = new Set(['mrow', 'mi', 'mo', 'mn', 'mtext', 'msub', 'msup', 'msubsup', 'mfrac', 'msqrt', 'munder', 'mover', 'munderover', 'mtable', 'mtr', 'mtd']);

/** An element [tag, setting or null, ...children]. */
function element([tag, of, ...children]) {
  if (!TAGS.has(tag)) throw new Error(`no formula has the element ${tag}`);
  const made = document.createElementNS(MATHML, tag);
  if (of) made.setAttribute('data-of', of);
  made.append(...children.map((child) => (typeof child === 'string' ? child : element(child))));
  return made;
}

/** Show a formula; without one, the place for it is hidden. */
export function showEquation(tree) {
  byId('equation').hidden = !tree;
  byId('equation').firstElementChild.replaceChildren(...(tree ? [element(tree)] : []));
}

/** Light up the symbols that stand for a setting, or no longer. */
export function lightUp(name, lit) {
  for (const symbol of document.querySelectorAll(`#equation [data-of="${name}"]`)) symbol.classList.toggle('lit', lit);
}
