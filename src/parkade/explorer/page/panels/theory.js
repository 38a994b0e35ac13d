// What theory says of a run, in the sentences of Python: numbers are filled into their blanks.

import { general } from '../compute/python.js';

/** A sentence with its blanks {name} and {name:.3g} filled in, as str.format does it. */
export function written(sentence, blanks) {
  return sentence.replace(/\{(\w+)(?::(\+?)\.(\d+)([gf]))?\}/g, (_, name, plus, digits, type) => {
    const value = blanks[name];
    if (!type) return value;
    const text = type === 'g' ? general(value, Number(digits)) : value.toFixed(Number(digits));
    return plus && !text.startsWith('-') ? `+${text}` : text;
  });
}

/** A time in words. */
const timeOf = (t) => general(t, 4).replace('e+0', 'e').replace('e+', 'e');

/** The sentence of a final configuration: `sentence` of parkade/theory/table.py. */
export function predictionOf({ cases, phrases }, final) {
  const { value, turn, gap, size, own, turns } = final;
  const imaginary = written(phrases.imaginary, { turn });
  return written(cases[final.case].sentence, {
    value,
    size,
    dim: own,
    next: Number.isFinite(gap) ? written(phrases.next, { gap, until: 1 / gap }) : '',
    multiple: general(value) === '1' ? '' : written(phrases.times, { value }),
    imaginary: imaginary === '1i' ? 'i' : imaginary,
    where: written(phrases[own === 1 ? 'plane' : 'planes'], { planes: own }),
    period: (2 * Math.PI) / turn,
    listed: turns.map((each) => written(phrases.one, { value, turn: each })).join(', '),
  });
}

/** How a run ends, in words. */
export function endOf({ lines }, count, T, closeness = '') {
  const clusters = written(lines[count === 1 ? 'cluster' : 'clusters'], { count });
  return written(lines.ends, { clusters, closeness, time: timeOf(T) });
}

/** How close tokens are to L: `closeness` of parkade/analysis/sentences.py. */
export function closenessOf({ closeness: { near, inside, within } }, degrees) {
  return degrees > within ? written(near, { degrees }) : inside;
}

/** How close free tokens are to frozen ones, in words. */
export function nearOf({ lines }, near, count, T) {
  const held = written(lines[count === 1 ? 'alone' : 'held'], { count });
  return written(lines.near, { near, held, time: timeOf(T) });
}

/** What Theorem 5.2 says of frozen tokens, with an ε and its limits if there is one. */
export function windowOf({ lines, window }, { N, c, eps, beta, low, high, fits }) {
  const listed = (values) => Object.entries(values)
    .map(([name, value]) => written(window.value, { name, value })).join(', ');
  const missing = 'eps';
  if (!fits) return written(window.never, { asked: listed({ N, c, beta }), missing });
  const sentence = written(window.range, { found: listed({ N, c, eps, beta }), missing, low, high });
  return written(lines.captured, { reach: eps / Math.sqrt(beta), window: sentence });
}
