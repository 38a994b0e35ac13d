// Creating and finding elements. Data becomes text, never markup.

export const byId = (id) => document.getElementById(id);

/** An element with properties, attributes (those with a dash or `role`, `for`) and children. */
export function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.includes('-') || key === 'role' || key === 'for') element.setAttribute(key, value);
    else element[key] = value;
  }
  element.append(...children);
  return element;
}

/** Put a card to the right of x in a box of this width, or to the left where there is no room. */
export function placeBeside(card, x, width) {
  const left = x + 18 + card.offsetWidth > width ? x - 18 - card.offsetWidth : x + 18;
  card.style.left = `${Math.max(0, left)}px`;
}

/** Text in which *x* is set in italics. */
export function symbols(text) {
  return text.split('*').map((part, i) => (i % 2 ? make('i', { textContent: part }) : part));
}

/** Typed text as a number, if it is one; 10^60, 1e60 and a decimal comma are allowed. */
export function typedNumber(text) {
  const clean = text.trim().replace(/−/g, '-').replace(/^10\^(\d+)$/, '1e$1').replace(/^(\d+),(\d+)$/, '$1.$2');
  return clean !== '' && Number.isFinite(Number(clean)) ? Number(clean) : text.trim();
}
