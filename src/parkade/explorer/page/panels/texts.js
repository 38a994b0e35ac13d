// What a scene shows, in words: its caption, a list of facts, a name for files, and its formula.

import { general } from '../compute/python.js';

const LONG = 40; // characters of a value in a caption

/** Whether a setting does nothing beside the others. */
export const isIdle = ({ idle }, settings) => Boolean(idle) && Object.entries(idle).every(([name, values]) => values.includes(settings[name]));

/** The value of a setting in words. */
function textOf({ control, whole, options }, value) {
  if (control === 'choice') return options.find(([name]) => name === value)[1];
  return control === 'number' && !whole ? general(value) : String(value);
}

const titleOf = ({ symbol, label }) => symbol || label;

/** One line that says what was run. */
export function labelOf(settings, fields) {
  const named = fields.filter((field) => !isIdle(field, settings) && (
    field.rule.caption === 'always' || (field.rule.caption === 'changed' && settings[field.name] !== field.default)));
  return named.map((field) => {
    const text = textOf(field, settings[field.name]);
    const phrase = field.rule.phrase || `${titleOf(field)} = {}`;
    return phrase.replace('{}', () => ([...text].length <= LONG ? text : '…'));
  }).join(', ');
}

/** The settings of the run by symbol or label; numbers are formatted by the page. */
export function factsOf(settings, fields, frozen) {
  const facts = {};
  for (const field of fields) {
    const value = settings[field.name];
    if (isIdle(field, settings) || (field.group && value === field.default)) continue;
    facts[titleOf(field)] = field.control === 'number' && !field.whole ? value : textOf(field, value);
    if (field.derived) {
      const { symbol, powers, most } = field.derived;
      facts[symbol] = Math.min(most, Object.entries(powers).reduce((product, [name, power]) => product * settings[name] ** power, 1));
    }
  }
  if (frozen) facts.frozen = `${frozen} token${frozen > 1 ? 's' : ''}`;
  return facts;
}

/** A name for files, without an extension. */
export function fileName(settings) {
  const { n, d, beta, growth, T, seed, norm } = settings;
  const mask = maskOf(settings);
  const others = [norm, mask === 'causal' ? '' : mask.replace(/\W/g, '')].filter((name) => name && name !== 'post').map((name) => `${name}-`).join('');
  const grows = growth ? `-growth${general(growth, 15)}` : '';
  const number = (x) => general(x, 15).replace('e+', 'e');
  return `parkade-${others}n${n}-d${d}-beta${general(beta, 15)}${grows}-T${number(T)}-seed${seed}`;
}

/** The mask as scenes name it. */
export const maskOf = ({ mask, reach }) => (mask === 'causal' || mask === 'full' ? mask : `${mask}(${reach})`);

/** The formula of a model, chosen from those of all. */
export function formulaOf(settings, fields, { above, plain, tree }) {
  const chosen = { ...settings };
  for (const [part, numbers] of Object.entries(above)) chosen[part] = Object.entries(numbers).every(([name, number]) => settings[name] > number);
  chosen.plain = Object.entries(plain).every(([name, values]) => values.includes(chosen[name]));
  const follow = (node) => {
    if (Array.isArray(node)) return [...node.slice(0, 2), ...node.slice(2).map(follow)];
    if (node === null || typeof node === 'string') return node;
    if (node.setting) return general(settings[node.setting]);
    return follow(node.of[String(chosen[node.by])]);
  };
  return follow(tree);
}
