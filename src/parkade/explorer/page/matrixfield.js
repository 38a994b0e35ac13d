// A matrix among the settings: the identity, its eigenvalues, all its entries, or random.

import { make, symbols, typedNumber } from './dom.js';
import { plain, subscript } from './format.js';

const GRID = 5; // matrices up to this size are edited entry by entry
const SLIDERS = 8;

/** The kind of a matrix text, as the server reads it. */
export function matrixKind(text) {
  if (text === 'I') return 'I';
  if (text.startsWith('random:')) return 'random';
  if (text.includes(';')) return 'matrix';
  return 'eigenvalues';
}

function entries(text, d) {
  const kind = matrixKind(text);
  const rows = Array.from({ length: d }, (_, i) => Array.from({ length: d }, (_, j) => (i === j ? '1' : '0')));
  if (kind === 'matrix') {
    text.split(';').slice(0, d).forEach((row, i) => {
      row.split(',').slice(0, d).forEach((entry, j) => { rows[i][j] = entry.trim(); });
    });
  } else if (kind === 'eigenvalues') {
    const values = diagonal(text, d);
    rows.forEach((row, i) => { row[i] = values[i]; });
  }
  return rows;
}

function diagonal(text, d) {
  const kind = matrixKind(text);
  if (kind === 'matrix') return entries(text, d).map((row, i) => row[i]);
  if (kind !== 'eigenvalues') return Array(d).fill('1');
  const values = text.split(',').map((value) => value.trim());
  return Array.from({ length: d }, (_, i) => values[Math.min(i, values.length - 1)]);
}

/** The same matrix in another dimension: cut, or continued. */
export function resized(text, d) {
  const kind = matrixKind(text);
  if (kind === 'eigenvalues' && text.includes(',')) return diagonal(text, d).join(',');
  if (kind === 'matrix') return entries(text, d).map((row) => row.join(',')).join(';');
  return text;
}

/** The text of a matrix of another kind that is as near as can be to this one. */
function converted(text, kind, d) {
  if (kind === 'I') return 'I';
  if (kind === 'random') return 'random:1';
  if (kind === 'eigenvalues') return diagonal(text, d).join(',');
  return entries(text, d).map((row) => row.join(',')).join(';');
}

export class MatrixField {
  constructor(name, about, onChange) {
    this.name = name;
    this.onChange = onChange;
    this.select = make('select', { id: name, 'aria-label': `${name}, ${about}`, 'aria-describedby': `${name}-error` });
    for (const [value, text] of [['I', 'identity I'], ['eigenvalues', 'eigenvalues'], ['matrix', 'full matrix'], ['random', 'random']]) {
      this.select.append(make('option', { value, textContent: text }));
    }
    this.select.addEventListener('change', () => this.set(converted(this.text, this.select.value, this.d), true));
    this.editor = make('div', { className: 'entries', id: `${name}-editor` });
    this.error = make('p', { className: 'error', id: `${name}-error`, role: 'alert', hidden: true });
    this.element = make('div', { className: 'field' },
      make('div', { className: 'row wide' }, make('label', { for: name }, ...symbols(`*${name}* `), make('span', { textContent: about })), this.select),
      this.editor, this.error);
    this.element.dataset.field = name;
    this.shape = '';
  }

  set(text, told) {
    this.show(text, this.d);
    if (told) this.onChange(text, true);
  }

  show(text, d) {
    this.text = text;
    this.d = d;
    const kind = matrixKind(text);
    this.select.value = kind;
    const shape = `${kind} ${d}`;
    if (shape !== this.shape) {
      this.shape = shape;
      this.build(kind, d);
    }
    this.fill(kind, d);
  }

  build(kind, d) {
    this.inputs = [];
    this.sliders = [];
    const input = (label, id) => {
      const box = make('input', { type: 'text', id, inputMode: 'decimal', 'aria-label': label, spellcheck: false });
      box.addEventListener('change', () => this.read(kind, true));
      this.inputs.push(box);
      return box;
    };
    const { name } = this;
    const parts = [];
    if (kind === 'eigenvalues' && d <= SLIDERS) {
      for (let i = 0; i < d; i++) {
        const slider = make('input', { type: 'range', min: -2, max: 2, step: 0.05, id: `${name}-${i}-slider`, 'aria-label': `${name}, eigenvalue ${i + 1}` });
        const box = input(`${name}, eigenvalue ${i + 1}, as a number`, `${name}-${i}`);
        slider.addEventListener('input', () => { box.value = plain(Number(slider.value)); this.read(kind, false); });
        slider.addEventListener('change', () => this.read(kind, true));
        this.sliders.push(slider);
        parts.push(make('div', { className: 'eigenvalue' }, make('span', {}, ...symbols('*λ*'), subscript(i + 1)), slider, box));
      }
    } else if (kind === 'matrix' && d <= GRID) {
      const grid = make('div', { className: 'entries', role: 'group', 'aria-label': `${name}, all entries` });
      grid.style.gridTemplateColumns = `repeat(${d}, 1fr)`;
      for (let i = 0; i < d * d; i++) grid.append(input(`${name}, row ${Math.floor(i / d) + 1}, column ${(i % d) + 1}`, `${name}-${Math.floor(i / d)}-${i % d}`));
      parts.push(grid);
    } else if (kind === 'random') {
      parts.push(make('label', { className: 'row', for: `${name}-seed` }, make('span', { className: 'hint', textContent: 'seed of its N(0, 1/d) entries' }), input(`${name}, seed`, `${name}-seed`)));
    } else if (kind !== 'I') {
      parts.push(input(kind === 'matrix' ? `${name}, rows separated by semicolons` : `${name}, eigenvalues separated by commas`, `${name}-text`));
    }
    this.editor.replaceChildren(...parts);
  }

  fill(kind, d) {
    const { text, inputs } = this;
    if (kind === 'random') inputs[0].value = text.slice('random:'.length);
    else if (inputs.length === 1 && d > 1) inputs[0].value = text;
    else if (kind === 'eigenvalues') diagonal(text, d).forEach((value, i) => { inputs[i].value = value; });
    else if (kind === 'matrix') entries(text, d).flat().forEach((value, i) => { inputs[i].value = value; });
    this.sliders.forEach((slider, i) => { slider.value = inputs[i].value; });
  }

  read(kind, done) {
    const values = this.inputs.map((box) => String(typedNumber(box.value)));
    const { d } = this;
    if (kind === 'random') this.text = `random:${values[0]}`;
    else if (this.inputs.length === 1 && d > 1) this.text = this.inputs[0].value.replace(/\s+/g, '') || 'I';
    else if (kind === 'eigenvalues') this.text = values.join(',');
    else this.text = Array.from({ length: d }, (_, i) => values.slice(i * d, (i + 1) * d).join(',')).join(';');
    this.sliders.forEach((slider, i) => { slider.value = values[i]; });
    this.onChange(this.text, done);
  }

  complain(sentence) {
    this.error.textContent = sentence ?? '';
    this.error.hidden = !sentence;
    for (const control of [this.select, ...this.inputs]) {
      if (sentence) control.setAttribute('aria-invalid', 'true');
      else control.removeAttribute('aria-invalid');
    }
  }
}
