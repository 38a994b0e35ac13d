// Settings, checked without a server by the rules of Python (explorer/settings/rules.py): the same sentences.

import { Unreadable, readMatrix, readRows } from '../controls/matrixtext.js';
import { brief, filled } from './python.js';

/** Settings that are wrong; `answer` is { error, field, others } as the server sends it. */
export class Wrong extends Error {
  constructor([first, ...others]) {
    super(first.error);
    this.answer = others.length ? { ...first, others } : first;
  }
}

const CHECKS = {
  number: ({ low, high, whole }, value) => typeof value === 'number' && value >= low && value <= high && (!whole || Number.isInteger(value)),
  choice: ({ rule }, value) => rule.only.includes(value),
  matrix: (_, value) => typeof value === 'string',
};
CHECKS.seed = CHECKS.number;

const length = (text) => [...text].length;

/** What is wrong with one setting, or null. */
function wrongWith(field, value, sentences) {
  const { name, control, rule } = field;
  if (!CHECKS[control](field, value)) return `${name} ${rule.expected}, got ${brief(value)}`;
  if (rule.longest && length(value) > rule.longest) return filled(sentences.too_long, { name, most: rule.longest, count: length(value) });
  return control === 'matrix' ? unreadable(() => readRows(name, value, sentences)) : null;
}

/** The sentence with which a function refuses a text, or null. */
function unreadable(read) {
  try {
    read();
    return null;
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return error.message;
  }
}

/** Throw all sentences, if there are any. */
function complain(wrong) {
  if (wrong.length) throw new Wrong(wrong);
}

/**
 * All settings, and the matrices among them as numbers, from those of a reader or a link; what is
 * left out has its default. Throws `Wrong` with everything that is wrong.
 */
export function readSettings(values, { fields, sentences, refused }) {
  if (typeof values !== 'object' || values === null || Array.isArray(values)) {
    complain([{ error: filled(sentences.no_object, { got: brief(values) }), field: null }]);
  }
  const known = fields.map(({ name }) => name);
  const unknown = Object.keys(values).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const error = filled(sentences.no_setting, { got: brief(unknown), known: known.join(', ') });
    complain([{ error, field: [...unknown].slice(0, 60).join('') }]);
  }
  const settings = Object.fromEntries(fields.map(({ name, default: usual }) => [name, name in values ? values[name] : usual]));
  complain(fields.map((field) => ({ error: wrongWith(field, settings[field.name], sentences), field: field.name })).filter(({ error }) => error));
  for (const { field, sentence, unless, only } of refused) {
    const others = Object.entries(unless).every(([name, values]) => !values.includes(settings[name]));
    if (others && Object.entries(only).every(([name, values]) => values.includes(settings[name]))) complain([{ error: sentence, field }]);
  }
  const matrices = {};
  const wrong = [];
  for (const field of fields.filter(({ control }) => control === 'matrix')) {
    const error = unreadable(() => {
      matrices[field.name] = readMatrix(field, settings[field.name], settings[field.size], sentences);
    });
    if (error) wrong.push({ error, field: field.name });
  }
  complain(wrong);
  return { settings, matrices };
}

/** The settings as a run takes them: noise that is too small to count is none, like an MLP without strength. */
export function effective(settings, { still }) {
  return { ...settings, noise: settings.noise > still ? settings.noise : 0, mlp: settings.gain === 0 ? 0 : settings.mlp };
}

/** Throw if a page cannot compute these settings, though the library can. */
export function checkReach(settings, { fields, sentences }) {
  complain(fields.filter(({ name, offered }) => offered && !offered.includes(settings[name])).map(({ name, offered }) => {
    const [got, some] = [settings[name], offered].map((value) => [value].flat().map(brief).join(' or '));
    return { error: filled(sentences.beyond, { name, got, some }), field: name };
  }));
}
