// Numbers and values as Python writes them in texts: the sentences of pages and of the library are the same.

/** A number with at most so many digits, as f"{x:.6g}". */
export function general(x, digits = 6) {
  if (!Number.isFinite(x)) return Number.isNaN(x) ? 'nan' : x < 0 ? '-inf' : 'inf';
  if (x === 0) return Object.is(x, -0) ? '-0' : '0';
  const [lead, power] = rounded(x, digits);
  const exponent = Number(power);
  if (exponent < -4 || exponent >= digits) return `${stripped(lead)}e${padded(exponent)}`;
  const sign = lead.startsWith('-') ? '-' : '';
  const all = lead.replace(/[-.]/g, '');
  if (exponent < 0) return sign + stripped(`0.${'0'.repeat(-exponent - 1)}${all}`);
  return sign + stripped(`${all.slice(0, exponent + 1)}.${all.slice(exponent + 1)}`);
}

/** Lead and exponent; of two that are equally close Python takes the even one, and scripts the larger. */
function rounded(x, digits) {
  const parts = x.toExponential(digits - 1).split('e');
  const [exact, power] = x.toExponential(60).split('e');
  const all = exact.replace(/[-.]/g, '');
  const tie = /^50*$/.test(all.slice(digits)) && Number(all[digits - 1]) % 2 === 0;
  if (!tie) return parts;
  const kept = all.slice(0, digits);
  return [`${x < 0 ? '-' : ''}${kept[0]}.${kept.slice(1)}`, power];
}

const stripped = (text) => (text.includes('.') ? text.replace(/\.?0*$/, '') : text);
const padded = (exponent) => `${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;

/** A number as repr() writes it; one without fraction is an int, as it is in JSON. */
function digits(x) {
  if (!Number.isFinite(x)) return general(x);
  if (Number.isInteger(x) && Math.abs(x) < 1e21) return Object.is(x, -0) ? '0' : String(BigInt(x));
  const [lead, power] = x.toExponential().split('e');
  const exponent = Number(power);
  return exponent < -4 || exponent >= 16 ? `${lead}e${padded(exponent)}` : x.toFixed(Math.max(1, lead.replace(/^-?\d\.?/, '').length - exponent));
}

/** A text as repr() writes it. */
function quoted(text) {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const special = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t', [quote]: `\\${quote}` };
  const written = [...text].map((c) => {
    if (special[c]) return special[c];
    if (c === ' ' || !/[\p{C}\p{Z}]/u.test(c)) return c;
    const code = c.codePointAt(0).toString(16);
    return code.length <= 2 ? `\\x${code.padStart(2, '0')}` : code.length <= 4 ? `\\u${code.padStart(4, '0')}` : `\\U${code.padStart(8, '0')}`;
  });
  return quote + written.join('') + quote;
}

function repr(value) {
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'number') return digits(value);
  if (typeof value === 'string') return quoted(value);
  if (Array.isArray(value)) return `[${value.map(repr).join(', ')}]`;
  if (typeof value === 'bigint') return String(value);
  return `{${Object.entries(value).map(([name, one]) => `${quoted(name)}: ${repr(one)}`).join(', ')}}`;
}

/** A value on one line, shortened for a message. */
export function brief(value) {
  const text = [...repr(value).split(/\s+/).join(' ')];
  return text.length <= 60 ? text.join('') : `${text.slice(0, 57).join('')}...`;
}

/** A sentence with its blanks {name} filled in. */
export const filled = (sentence, blanks) => sentence.replace(/\{(\w+)\}/g, (_, name) => blanks[name]);
