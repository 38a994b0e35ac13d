// What a text says of a matrix: "I", "2", "1,1,-1/2", "0,-1;1,0" or "random:SEED", as the library reads it.

import { brief, filled, general } from '../compute/python.js';

const RANDOM = 'random:';
const DECIMAL = /^[+-]?(?:\d+(?:_\d+)*\.?(?:\d+(?:_\d+)*)?|\.\d+(?:_\d+)*)(?:e[+-]?\d+(?:_\d+)*)?$/i;
const NAMED = /^([+-]?)(inf|infinity|nan)$/i;
const WHOLE = /^[+-]?\d+(?:_\d+)*$/;

/** A text that Python's float() takes, as a number; null if it does not. */
function float(text) {
  const clean = text.trim();
  const [, sign, name] = NAMED.exec(clean) ?? [];
  if (name) return name.toLowerCase() === 'nan' ? NaN : sign === '-' ? -Infinity : Infinity;
  return DECIMAL.test(clean) ? Number(clean.replaceAll('_', '')) : null;
}

/** A number, or a fraction like 1/2; null if it is none. */
function entry(text) {
  const bar = text.indexOf('/');
  if (bar < 0) return float(text);
  const [above, below] = [float(text.slice(0, bar)), float(text.slice(bar + 1))];
  return above === null || below === null || below === 0 ? null : above / below;
}

/** Thrown with a sentence about a text. */
export class Unreadable extends Error {}

/** The rows of numbers of a text, which may be of any size; none if it says "I" or is random. */
export function readRows(name, typed, sentences) {
  const refuse = (sentence, blanks) => { throw new Unreadable(filled(sentence, { name, ...blanks })); };
  const text = typed.trim();
  if (text === 'I' || text.startsWith(RANDOM)) return [];
  const rows = text.split(';').map((row) => row.split(',').map(entry));
  if (rows.flat().includes(null)) refuse(sentences.unreadable, { other: sentences.other, got: brief(text) });
  if (rows.some((row) => row.length !== rows[0].length)) {
    const lengths = rows.slice(0, 8).map((row) => row.length).join(', ') + (rows.length > 8 ? ', …' : '');
    refuse(sentences.uneven, { lengths });
  }
  return rows;
}

/** The matrix of a text: a flat array of d × d numbers, or { random: SEED }. */
export function readMatrix({ name, rule }, typed, d, sentences) {
  const refuse = (sentence, blanks) => { throw new Unreadable(filled(sentence, { name, ...blanks })); };
  const text = typed.trim();
  if (text === 'I') return diagonal(Array(d).fill(1));
  if (text.startsWith(RANDOM)) return { random: readSeed(name, text.slice(RANDOM.length), sentences, refuse) };
  const rows = readRows(name, text, sentences);
  const shape = rows.length > 1 ? [rows.length, rows[0].length] : rows[0].length > 1 ? [rows[0].length] : [];
  const values = rows.flat();
  checkNumbers(values, shape, refuse, sentences);
  const fits = shape.length === 2 ? shape[0] === d && shape[1] === d : shape.length === 0 || shape[0] === d;
  if (!fits) refuse(sentences.shape, { d, more: '', shape: shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(', ')})` });
  const size = Math.max(...values.map(Math.abs));
  const [least, most, low, high] = sentences.sizes;
  if (size !== 0 && !(size >= least && size <= most)) refuse(sentences.size, { low, high, got: general(size), other: sentences.absorbs[name] });
  const matrix = shape.length === 2 ? values : diagonal(shape.length ? values : Array(d).fill(values[0]));
  const [smallest, largest, ...words] = rule.entries;
  const wrong = matrix.find((x) => Math.abs(x) > largest || (Math.abs(x) < smallest && x !== 0));
  if (wrong !== undefined) refuse(sentences.too_large, { low: words[0], high: words[1], got: general(wrong) });
  return matrix;
}

function checkNumbers(values, shape, refuse, sentences) {
  const at = values.findIndex((x) => !Number.isFinite(x));
  if (at < 0) return;
  const index = shape.length === 2 ? [Math.floor(at / shape[1]), at % shape[1]] : shape.length ? [at] : [];
  refuse(sentences.not_finite, { got: general(values[at]), place: index.length ? ` at index ${index.join(', ')}` : '' });
}

function readSeed(name, text, sentences, refuse) {
  const clean = text.trim();
  const seed = WHOLE.test(clean) ? BigInt(clean.replaceAll('_', '').replace(/^\+/, '')) : -1n;
  if (seed < 0n) refuse(sentences.not_whole, { name: `${name} random:SEED`, got: brief(text) });
  const { most, expected } = sentences.seed;
  if (seed > BigInt(most)) throw new Unreadable(`SEED of ${name} ${expected}, got ${brief(seed)}`);
  return Number(seed);
}

function diagonal(values) {
  const d = values.length;
  return values.flatMap((value, i) => Array.from({ length: d }, (_, j) => (i === j ? value : 0)));
}
