// The controls of all settings, made from the schema.

import { byId, make } from '../dom.js';
import { lightUp } from '../panels/equation.js';
import { ChoiceField, NumberField, SeedField } from './inputs.js';
import { MatrixField, resized } from './matrixfield.js';
import { isIdle } from '../panels/texts.js';

const CONTROLS = { number: NumberField, choice: ChoiceField, seed: SeedField, matrix: MatrixField };

const isSize = (field, value) => Number.isInteger(value) && value >= field.low && value <= field.high;

/** Whether there is nothing to choose: a page may have engines for one value only. */
const isFixed = ({ name, offered }, settings) => offered?.length === 1 && settings[name] === offered[0];

export class Controls {
  /** `onChange(settings, done)`: done is false while a slider is still being moved. */
  constructor(fields, settings, onChange) {
    this.schema = Object.fromEntries(fields.map((field) => [field.name, field]));
    this.onChange = onChange;
    this.fields = Object.fromEntries(fields.map((field) => [
      field.name, new CONTROLS[field.control](field, (value, done) => this.change(field, value, done)),
    ]));
    this.groups = new Map();
    byId('fields').replaceChildren();
    for (const { field, element } of Object.values(this.fields)) this.place(field.group).append(element);
    // The symbol in the equation lights up with its control.
    for (const type of ['focusin', 'focusout', 'pointerover', 'pointerout']) {
      byId('fields').addEventListener(type, (event) => {
        lightUp(event.target.closest('.field')?.dataset.field, type === 'focusin' || type === 'pointerover');
      });
    }
    byId('settings').addEventListener('submit', (event) => event.preventDefault());
    this.show(settings);
  }

  /** Where a control belongs: in sight, or under the heading of its group, which is closed at first. */
  place(group) {
    if (!group) return byId('fields');
    if (!this.groups.has(group)) {
      const details = make('details', { className: 'group' }, make('summary', { textContent: group }));
      this.groups.set(group, details);
      byId('fields').append(details);
    }
    return this.groups.get(group);
  }

  /** A control has a new value. Matrices keep to the setting that is their size. */
  change(field, value, done) {
    const before = this.settings;
    const next = { ...before, [field.name]: value };
    for (const { name, size } of Object.values(this.schema)) {
      if (size === field.name && isSize(field, value)) next[name] = resized(before[name], value);
    }
    this.fill(next);
    this.onChange(next, done);
  }

  /** Show settings from elsewhere; a group with one that is not the default opens. */
  show(settings) {
    this.fill(settings);
    for (const { field: { name, group, default: usual } } of Object.values(this.fields)) {
      if (group && settings[name] !== usual) this.groups.get(group).open = true;
    }
  }

  fill(settings) {
    this.settings = { ...settings };
    for (const control of Object.values(this.fields)) {
      control.show(settings, this.sizeOf(control.field, settings));
      control.element.hidden = isIdle(control.field, settings) || isFixed(control.field, settings);
    }
    for (const details of this.groups.values()) details.hidden = !details.querySelector('.field:not([hidden])');
  }

  /** The size of a matrix; its default while the setting that gives it is wrong. */
  sizeOf({ size }, settings) {
    const field = this.schema[size];
    return field && (isSize(field, settings[size]) ? settings[size] : field.default);
  }

  /** Say all that is wrong, at the controls concerned; a list of { error, field }. */
  complain(wrong) {
    const of = (name) => wrong.find(({ field }) => field === name)?.error ?? null;
    for (const [name, field] of Object.entries(this.fields)) field.complain(of(name));
    const elsewhere = wrong.filter(({ field }) => !(field in this.fields)).map(({ error }) => error).join(' ');
    byId('form-error').textContent = elsewhere;
    byId('form-error').hidden = !elsewhere;
    const elements = wrong.map(({ field }) => this.fields[field]?.element).filter(Boolean);
    for (const element of elements) if (element.closest('details')) element.closest('details').open = true;
    if (elements.length && !elements.some((element) => element.contains(document.activeElement))) elements[0].scrollIntoView({ block: 'nearest' });
  }
}
