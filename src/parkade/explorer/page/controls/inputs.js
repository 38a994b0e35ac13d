// Controls for numbers, choices and seeds. Each shows its own errors.

import { make, symbols, typedNumber } from '../dom.js';
import { plain, short } from '../format.js';

const SEGMENTS = 4; // options that fit side by side; more of them make a menu

/** What all controls share: `field` is an entry of the schema. */
export class Field {
  constructor(field, ...rows) {
    this.field = field;
    this.name = field.name;
    this.error = make('p', { className: 'error', id: `${field.name}-error`, role: 'alert', hidden: true });
    const help = field.help ? [make('p', { className: 'hint', textContent: field.help })] : [];
    this.element = make('div', { className: 'field' }, ...rows, ...help, this.error);
    this.element.dataset.field = field.name;
  }

  /** The elements that are wrong if the value is. */
  get inputs() { return []; }

  /** Say what is wrong, or that nothing is. */
  complain(sentence) {
    this.error.textContent = sentence ?? '';
    this.error.hidden = !sentence;
    for (const input of this.inputs) {
      if (sentence) input.setAttribute('aria-invalid', 'true');
      else input.removeAttribute('aria-invalid');
    }
  }
}

/** The label of a control: a symbol, then a few words. */
export function labelOf({ name, symbol, label }, ...more) {
  return make('label', { for: name }, ...symbols(symbol ? `*${symbol}* ` : ''), ...(more.length ? more : [make('span', { textContent: label })]));
}

/** A number to type, with a slider if the schema has one. */
export class NumberField extends Field {
  constructor(field, onChange) {
    const { name, symbol, label, slider } = field;
    const note = make('span', { textContent: label });
    const box = make('input', { type: 'text', inputMode: 'decimal', id: name, spellcheck: false, 'aria-describedby': `${name}-error` });
    const step = slider && field.whole && !slider.log ? 1 / (slider.high - slider.low) : 0.002;
    const range = slider && make('input', { type: 'range', min: 0, max: 1, step, id: `${name}-slider`, 'aria-label': `${symbol || name}, ${label}` });
    super(field, make('div', { className: 'row' }, labelOf(field, note), box), ...(range ? [range] : []));
    Object.assign(this, { note, box, range, onChange });
    box.addEventListener('change', () => this.set(typedNumber(box.value), true));
    range?.addEventListener('input', () => this.set(this.slid(), false));
    range?.addEventListener('change', () => this.set(this.slid(), true));
    if (field.whole) range?.addEventListener('keydown', (event) => this.key(event));
  }

  get inputs() { return [this.box]; }

  /** A key moves a whole number by one at least; a step of the slider may be less than that. */
  key(event) {
    const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    const value = typedNumber(this.box.value);
    if (!way || typeof value !== 'number') return;
    event.preventDefault();
    const { low, high, log } = this.field.slider;
    const step = log ? Math.max(1, Math.round(0.014 * value)) : 1;
    this.set(Math.min(high, Math.max(low, value + way * step)), true);
  }

  /** The value at which the slider stands. */
  slid() {
    const { low, high, log } = this.field.slider;
    const s = Number(this.range.value);
    const value = log ? low * (high / low) ** s : low + s * (high - low);
    return this.field.whole ? Math.round(value) : Number(value.toPrecision(value >= 1e5 ? 2 : 3));
  }

  /** Take a value; `done` is false while the slider still moves. */
  set(value, done) {
    this.showValue(value);
    this.onChange(value, done);
  }

  show(settings) {
    this.showValue(settings[this.name]);
    if (this.field.derived) this.note.replaceChildren(...symbols(derivedText(this.field.derived, settings)));
  }

  showValue(value) {
    this.box.value = typeof value === 'number' ? plain(value) : value;
    if (typeof value !== 'number' || !this.range) return;
    const { low, high, log } = this.field.slider;
    const held = Math.min(high, Math.max(low, value));
    this.range.value = log ? Math.log(held / low) / Math.log(high / low) : (held - low) / (high - low);
    this.range.setAttribute('aria-valuetext', short(value));
  }
}

/** A product of powers of settings, with its value if all of them are numbers. */
function derivedText({ symbol, formula, powers, most }, settings) {
  const factors = Object.entries(powers).map(([name, power]) => (typeof settings[name] === 'number' ? settings[name] ** power : NaN));
  const value = factors.reduce((a, b) => a * b, 1);
  return `*${symbol}* = ${formula}${Number.isFinite(value) ? ` = ${short(Math.min(value, most))}` : ''}`;
}

/** One of a few words: side by side, or in a menu if there are many. */
export class ChoiceField extends Field {
  constructor(field, onChange) {
    const { name, label, offered } = field;
    const options = field.options.filter(([value]) => !offered || offered.includes(value));
    const few = options.length <= SEGMENTS;
    const parts = (few ? segments : menu)({ name, options }, onChange);
    const heading = few ? make('span', { className: 'hint', id: `${name}-label`, textContent: label })
      : make('label', { className: 'hint', for: name, textContent: label });
    const row = few && options.length === SEGMENTS ? 'row wide long' : 'row wide';
    super(field, make('div', { className: row }, heading, parts.element));
    this.choose = parts.choose;
  }

  show(settings) { this.choose(settings[this.name]); }
}

function segments({ name, options }, onChange) {
  const radios = options.map(([value]) => make('input', { type: 'radio', name, value, id: `${name}-${value}` }));
  for (const radio of radios) radio.addEventListener('change', () => onChange(radio.value, true));
  const labels = options.map(([value, text], i) => make('label', { for: `${name}-${value}` }, radios[i], text));
  return {
    element: make('div', { className: 'segments', role: 'radiogroup', 'aria-labelledby': `${name}-label` }, ...labels),
    choose(value) { for (const radio of radios) radio.checked = radio.value === value; },
  };
}

function menu({ name, options }, onChange) {
  const select = make('select', { id: name, 'aria-describedby': `${name}-error` }, ...options.map(([value, text]) => make('option', { value, textContent: text })));
  select.addEventListener('change', () => onChange(select.value, true));
  return { element: select, choose(value) { select.value = value; } };
}

/** A seed, with a button for the next one. */
export class SeedField extends Field {
  constructor(field, onChange) {
    const { name, symbol, label, next_label: next } = field;
    const box = make('input', { type: 'text', inputMode: 'numeric', id: name, 'aria-describedby': `${name}-error`, spellcheck: false });
    const again = make('button', { type: 'button', id: `${name}-next`, textContent: 'new', title: next, 'aria-label': next });
    super(field, make('div', { className: 'row' },
      make('label', { for: name }, `${symbol} `, make('span', { textContent: label })), make('div', { className: 'with-button' }, box, again)));
    this.box = box;
    box.addEventListener('change', () => onChange(typedNumber(box.value), true));
    again.addEventListener('click', () => {
      const seed = typedNumber(box.value);
      box.value = String(Number.isInteger(seed) ? seed + 1 : field.default);
      onChange(Number(box.value), true);
    });
  }

  get inputs() { return [this.box]; }

  show(settings) { this.box.value = String(settings[this.name]); }
}
