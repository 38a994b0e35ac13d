// A matrix among the settings: the identity, its eigenvalues, all its entries, or random.

import { make, symbols, typedNumber } from '../dom.js';
import { Field, labelOf } from './inputs.js';
import { plain, subscript } from '../format.js';

const GRID = 5; // matrices up to this size are edited entry by entry
const SLIDERS = 8; // diagonals up to this length have sliders
const FORMS = [['I', 'identity I'], ['eigenvalues', 'eigenvalues'], ['matrix', 'full matrix'], ['random', 'random']];

/** The form of a matrix text, as the server reads it. */
function formOf(text) {
  if (text === 'I') return 'I';
  if (text.startsWith('random:')) return 'random';
  if (text.includes(';')) return 'matrix';
  return 'eigenvalues';
}

function entries(text, d) {
  const form = formOf(text);
  const rows = Array.from({ length: d }, (_, i) => Array.from({ length: d }, (_, j) => (i === j ? '1' : '0')));
  if (form === 'matrix') {
    text.split(';').slice(0, d).forEach((row, i) => {
      row.split(',').slice(0, d).forEach((entry, j) => { rows[i][j] = entry.trim(); });
    });
  } else if (form === 'eigenvalues') {
    const values = diagonal(text, d);
    rows.forEach((row, i) => { row[i] = values[i]; });
  }
  return rows;
}

function diagonal(text, d) {
  const form = formOf(text);
  if (form === 'matrix') return entries(text, d).map((row, i) => row[i]);
  if (form !== 'eigenvalues') return Array(d).fill('1');
  const values = text.split(',').map((value) => value.trim());
  return Array.from({ length: d }, (_, i) => values[Math.min(i, values.length - 1)]);
}

/** The same matrix in another dimension: cut, or continued. */
export function resized(text, d) {
  const form = formOf(text);
  if (form === 'eigenvalues' && text.includes(',')) return diagonal(text, d).join(',');
  if (form === 'matrix') return entries(text, d).map((row) => row.join(',')).join(';');
  return text;
}

/** The value of an entry, which may be a fraction. */
const valueOf = (text) => text.split('/').map(Number).reduce((above, below) => above / below);

/** The text of the closest matrix of another form. */
function converted(text, form, d) {
  if (form === 'I') return 'I';
  if (form === 'random') return 'random:1';
  if (form === 'eigenvalues') return diagonal(text, d).join(',');
  return entries(text, d).map((row) => row.join(',')).join(';');
}

export class MatrixField extends Field {
  constructor(field, onChange) {
    const { name, symbol, label } = field;
    const select = make('select', { id: name, 'aria-label': `${symbol || name}, ${label}`, 'aria-describedby': `${name}-error` });
    for (const [value, text] of FORMS) select.append(make('option', { value, textContent: text }));
    const editor = make('div', { className: 'entries', id: `${name}-editor` });
    super(field, make('div', { className: 'row wide' }, labelOf(field), select), editor);
    Object.assign(this, { select, editor, onChange, shape: '', boxes: [], sliders: [] });
    select.addEventListener('change', () => {
      const text = converted(this.text, select.value, this.d);
      this.showText(text, this.d);
      onChange(text, true);
    });
  }

  get inputs() { return [this.select, ...this.boxes]; }

  show(settings, d) { this.showText(String(settings[this.name]), d); }

  showText(text, d) {
    this.text = text;
    this.d = d;
    const form = formOf(text);
    this.select.value = form;
    const shape = `${form} ${d}`;
    if (shape !== this.shape) {
      this.shape = shape;
      this.build(form, d);
    }
    this.fill(form, d);
  }

  build(form, d) {
    this.boxes = [];
    this.sliders = [];
    const input = (label, id) => {
      const box = make('input', { type: 'text', id, inputMode: 'decimal', 'aria-label': label, spellcheck: false });
      box.addEventListener('change', () => this.read(form, true));
      this.boxes.push(box);
      return box;
    };
    const { name, field: { slider: { low, high } } } = this;
    const parts = [];
    if (form === 'eigenvalues' && d <= SLIDERS) {
      for (let i = 0; i < d; i++) {
        const slider = make('input', { type: 'range', min: low, max: high, step: (high - low) / 80, id: `${name}-${i}-slider`, 'aria-label': `${name}, eigenvalue ${i + 1}` });
        const box = input(`${name}, eigenvalue ${i + 1}, as a number`, `${name}-${i}`);
        slider.addEventListener('input', () => { box.value = plain(Number(slider.value)); this.read(form, false); });
        slider.addEventListener('change', () => this.read(form, true));
        this.sliders.push(slider);
        parts.push(make('div', { className: 'eigenvalue' }, make('span', {}, ...symbols('*λ*'), subscript(i + 1)), slider, box));
      }
    } else if (form === 'matrix' && d <= GRID) {
      const grid = make('div', { className: 'entries', role: 'group', 'aria-label': `${name}, all entries` });
      grid.style.gridTemplateColumns = `repeat(${d}, 1fr)`;
      for (let i = 0; i < d * d; i++) grid.append(input(`${name}, row ${Math.floor(i / d) + 1}, column ${(i % d) + 1}`, `${name}-${Math.floor(i / d)}-${i % d}`));
      parts.push(grid);
    } else if (form === 'random') {
      parts.push(make('label', { className: 'row', for: `${name}-seed` }, make('span', { className: 'hint', textContent: 'seed of its N(0, 1/d) entries' }), input(`${name}, seed`, `${name}-seed`)));
    } else if (form !== 'I') {
      parts.push(input(form === 'matrix' ? `${name}, rows separated by semicolons` : `${name}, eigenvalues separated by commas`, `${name}-text`));
    }
    this.editor.replaceChildren(...parts);
  }

  fill(form, d) {
    const { text, boxes } = this;
    if (form === 'random') boxes[0].value = text.slice('random:'.length);
    else if (boxes.length === 1 && d > 1) boxes[0].value = text;
    else if (form === 'eigenvalues') diagonal(text, d).forEach((value, i) => { boxes[i].value = value; });
    else if (form === 'matrix') entries(text, d).flat().forEach((value, i) => { boxes[i].value = value; });
    this.sliders.forEach((slider, i) => { slider.value = valueOf(boxes[i].value); });
  }

  read(form, done) {
    const values = this.boxes.map((box) => String(typedNumber(box.value)));
    const { d } = this;
    if (form === 'random') this.text = `random:${values[0]}`;
    else if (this.boxes.length === 1 && d > 1) this.text = this.boxes[0].value.replace(/\s+/g, '') || 'I';
    else if (form === 'eigenvalues') this.text = values.join(',');
    else this.text = Array.from({ length: d }, (_, i) => values.slice(i * d, (i + 1) * d).join(',')).join(';');
    this.sliders.forEach((slider, i) => { slider.value = valueOf(values[i]); });
    this.onChange(this.text, done);
  }
}
