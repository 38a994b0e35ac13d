// The settings of the run, with the paper's symbols. Each control tells its own errors.

import { byId, make, symbols, typedNumber } from './dom.js';
import { MatrixField, resized } from './matrixfield.js';
import { plain, short } from './format.js';

const SLIDING = {
  n: { about: 'tokens', low: 2, high: 2000, whole: true, log: true },
  d: { about: 'dimension', low: 2, high: 16, whole: true },
  beta: { symbol: 'β', about: 'sharpness', low: 0.1, high: 1000, log: true },
  c: { about: 'δ', low: 0.5, high: 8 },
  T: { about: 'final time', low: 1, high: 1e60, log: true },
};

const rounded = (x, whole) => (whole ? Math.round(x) : Number(x.toPrecision(x >= 1e5 ? 2 : 3)));

class NumberField {
  constructor(name, { symbol = name, about, low, high, whole = false, log = false }, onChange) {
    Object.assign(this, { name, low, high, whole, log, onChange });
    this.note = make('span', { textContent: about });
    this.box = make('input', { type: 'text', inputMode: 'decimal', id: name, spellcheck: false, 'aria-describedby': `${name}-error` });
    this.slider = make('input', { type: 'range', min: 0, max: 1, step: whole && !log ? 1 / (high - low) : 0.002, id: `${name}-slider`, 'aria-label': `${symbol}, ${about}` });
    this.error = make('p', { className: 'error', id: `${name}-error`, role: 'alert', hidden: true });
    this.element = make('div', { className: 'field' },
      make('div', { className: 'row' }, make('label', { for: name }, ...symbols(`*${symbol}* `), this.note), this.box), this.slider, this.error);
    this.element.dataset.field = name;
    this.box.addEventListener('change', () => this.tell(typedNumber(this.box.value), true));
    this.slider.addEventListener('input', () => this.tell(this.slid(), false));
    this.slider.addEventListener('change', () => this.tell(this.slid(), true));
    if (whole) this.slider.addEventListener('keydown', (event) => this.key(event));
  }

  /** A key moves a whole number by one at least; a step of the slider may be less than that. */
  key(event) {
    const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    const value = typedNumber(this.box.value);
    if (!way || typeof value !== 'number') return;
    event.preventDefault();
    const step = this.log ? Math.max(1, Math.round(0.014 * value)) : 1;
    this.tell(Math.min(this.high, Math.max(this.low, value + way * step)), true);
  }

  slid() {
    const { low, high, log, whole } = this;
    const s = Number(this.slider.value);
    const value = log ? low * (high / low) ** s : low + s * (high - low);
    return rounded(value, whole);
  }

  tell(value, done) {
    this.show(value);
    this.onChange(value, done);
  }

  show(value) {
    this.box.value = typeof value === 'number' ? plain(value) : value;
    if (typeof value !== 'number') return;
    const { low, high, log } = this;
    const held = Math.min(high, Math.max(low, value));
    this.slider.value = log ? Math.log(held / low) / Math.log(high / low) : (held - low) / (high - low);
    this.slider.setAttribute('aria-valuetext', short(value));
  }

  complain(sentence) {
    this.error.textContent = sentence ?? '';
    this.error.hidden = !sentence;
    if (sentence) this.box.setAttribute('aria-invalid', 'true');
    else this.box.removeAttribute('aria-invalid');
  }
}

/** One of a few words. */
class ChoiceField {
  constructor(name, about, options, onChange) {
    this.radios = options.map(([value, text]) => {
      const radio = make('input', { type: 'radio', name, value, id: `${name}-${value}` });
      radio.addEventListener('change', () => onChange(value, true));
      return { radio, label: make('label', { for: `${name}-${value}` }, radio, text) };
    });
    this.error = make('p', { className: 'error', id: `${name}-error`, role: 'alert', hidden: true });
    this.element = make('div', { className: 'field' },
      make('div', { className: 'row wide' }, make('span', { className: 'hint', id: `${name}-label`, textContent: about }),
        make('div', { className: 'segments', role: 'radiogroup', 'aria-labelledby': `${name}-label` }, ...this.radios.map((r) => r.label))), this.error);
    this.element.dataset.field = name;
  }

  show(value) {
    for (const { radio } of this.radios) radio.checked = radio.value === value;
  }

  complain(sentence) {
    this.error.textContent = sentence ?? '';
    this.error.hidden = !sentence;
  }
}

class SeedField {
  constructor(onChange) {
    this.box = make('input', { type: 'text', inputMode: 'numeric', id: 'seed', 'aria-describedby': 'seed-error', spellcheck: false });
    this.box.addEventListener('change', () => onChange(typedNumber(this.box.value), true));
    const again = make('button', { type: 'button', id: 'seed-next', textContent: 'new', title: 'Another random start', 'aria-label': 'Another random start' });
    again.addEventListener('click', () => {
      const seed = typedNumber(this.box.value);
      this.show(Number.isInteger(seed) ? seed + 1 : 1);
      onChange(Number(this.box.value), true);
    });
    this.error = make('p', { className: 'error', id: 'seed-error', role: 'alert', hidden: true });
    this.element = make('div', { className: 'field' },
      make('div', { className: 'row' }, make('label', { for: 'seed' }, 'seed ', make('span', { textContent: 'of the start' })),
        make('div', { className: 'with-button' }, this.box, again)), this.error);
    this.element.dataset.field = 'seed';
  }

  show(value) { this.box.value = String(value); }

  complain(sentence) {
    this.error.textContent = sentence ?? '';
    this.error.hidden = !sentence;
    if (sentence) this.box.setAttribute('aria-invalid', 'true');
    else this.box.removeAttribute('aria-invalid');
  }
}

export class Controls {
  /** `onChange(settings, done)`: done is false while a slider is still being moved. */
  constructor(settings, onChange) {
    this.settings = { ...settings };
    const change = (name) => (value, done) => {
      const before = this.settings;
      this.settings = { ...before, [name]: value };
      if (name === 'd' && Number.isInteger(value) && value >= 2 && value <= 64) {
        for (const matrix of ['V', 'Q', 'K']) this.settings[matrix] = resized(before[matrix], value);
      }
      this.show(this.settings);
      onChange(this.settings, done);
    };
    const number = (name) => new NumberField(name, SLIDING[name], change(name));
    this.fields = {
      n: number('n'), d: number('d'), beta: number('beta'), c: number('c'),
      V: new MatrixField('V', 'values', change('V')),
      Q: new MatrixField('Q', 'queries', change('Q')),
      K: new MatrixField('K', 'keys', change('K')),
      mask: new ChoiceField('mask', 'attention', [['causal', 'causal'], ['full', 'full']], change('mask')),
      frozen: new ChoiceField('frozen', 'frozen', [['none', 'none'], ['renyi', 'Rényi'], ['strong', 'strong']], change('frozen')),
      seed: new SeedField(change('seed')),
      T: number('T'),
    };
    const order = ['n', 'd', 'beta', 'c', 'T', 'V', 'Q', 'K', 'mask', 'frozen', 'seed'];
    byId('fields').append(...order.map((name) => this.fields[name].element));
    // The symbol in the equation lights up with its control.
    for (const kind of ['focusin', 'focusout', 'pointerover', 'pointerout']) {
      byId('fields').addEventListener(kind, (event) => {
        const name = event.target.closest('.field')?.dataset.field;
        const lit = kind === 'focusin' || kind === 'pointerover';
        for (const symbol of document.querySelectorAll(`#equation [data-of="${name}"]`)) symbol.classList.toggle('lit', lit);
      });
    }
    byId('settings').addEventListener('submit', (event) => event.preventDefault());
    this.show(settings);
  }

  show(settings) {
    this.settings = { ...settings };
    const d = Number.isInteger(settings.d) && settings.d >= 1 && settings.d <= 64 ? settings.d : 3;
    for (const [name, field] of Object.entries(this.fields)) field.show(settings[name], d);
    const { beta, c } = settings;
    const delta = typeof beta === 'number' && typeof c === 'number' && beta > 0 ? c / Math.sqrt(beta) : NaN;
    this.fields.c.note.replaceChildren(...symbols(Number.isFinite(delta) ? `*δ* = *cβ*⁻¹ᐟ² = ${short(Math.min(delta, Math.PI))}` : '*δ* = *cβ*⁻¹ᐟ²'));
    const full = settings.mask === 'full';
    byId('upto').textContent = full ? '' : '≤';
    byId('upto-k').textContent = full ? '' : 'k';
  }

  /** Say what is wrong, at the control concerned if there is one. */
  complain(sentence, name) {
    for (const [own, field] of Object.entries(this.fields)) field.complain(own === name ? sentence : null);
    const elsewhere = sentence && !(name in this.fields);
    byId('form-error').textContent = elsewhere ? sentence : '';
    byId('form-error').hidden = !elsewhere;
    const element = this.fields[name]?.element;
    if (sentence && element && !element.contains(document.activeElement)) element.scrollIntoView({ block: 'nearest' });
  }
}
