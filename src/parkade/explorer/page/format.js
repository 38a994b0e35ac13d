// Numbers as people write them.

const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹';
const SUBSCRIPTS = '₀₁₂₃₄₅₆₇₈₉';

const raised = (digits, alphabet, minus) =>
  [...String(digits)].map((c) => (c === '-' ? minus : alphabet[+c])).join('');

export const superscript = (k) => raised(k, SUPERSCRIPTS, '⁻');
export const subscript = (k) => raised(k, SUBSCRIPTS, '₋');

/** A number with three digits: 14.2, 0.05, 5000, 1.31·10¹². */
export function short(x, digits = 3) {
  if (x === 0) return '0';
  const size = Math.abs(x);
  if (size >= 1e-3 && size < 1e5) {
    return String(Number(x.toPrecision(size >= 1000 ? 4 : digits))).replace('-', '−');
  }
  const [lead, power] = x.toExponential(digits - 1).split('e');
  const ten = `10${superscript(Number(power))}`;
  return Number(lead) === 1 ? ten : `${Number(lead)}·${ten}`.replace('-', '−');
}

export const tenTo = (k) => (k === 0 ? '1' : k === 1 ? '10' : `10${superscript(k)}`);

/** The name of a token, counted from 1 as in the paper. */
export const tokenName = (index) => `x${subscript(index + 1)}`;

// Positions have single precision: smaller angles than this are rounding.
export const degrees = (angle) => `${angle < 1e-6 ? 0 : short((angle * 180) / Math.PI)}°`;

export function percent(share) {
  if (share > 0 && share < 0.001) return 'less than 0.1 %';
  return `${share > 0 && share < 0.01 ? (100 * share).toFixed(1) : Math.round(100 * share)} %`;
}

export const counted = (k, noun) => `${k} ${noun}${k === 1 ? '' : 's'}`;

/** The shortest text of a float that keeps its value, for links. */
export const plain = (x) => (Math.abs(x) >= 1e6 ? x.toExponential() : String(x)).replace('e+', 'e');

/** Plain text of the library with mathematical signs: x_1 is x₁, 1e60 is 10⁶⁰. */
export function typeset(text) {
  return text
    .replace(/x_(\d+)/g, (_, k) => `x${subscript(k)}`)
    .replace(/\b(\d+(?:\.\d+)?e[+-]?\d+)\b/g, (_, number) => short(Number(number)))
    .replace(/(^|[\s(=,±])-(\d)/g, '$1−$2');
}
