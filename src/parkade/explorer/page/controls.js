// The controls of all settings, made from the schema.

import { byId } from './dom.js';
import { lightUp } from './equation.js';
import { ChoiceField, NumberField, SeedField } from './fields.js';
import { MatrixField, resized } from './matrixfield.js';

const CONTROLS = { number: NumberField, choice: ChoiceField, seed: SeedField, matrix: MatrixField };

const isSize = (field, value) => Number.isInteger(value) && value >= field.low && value <= field.high;

export class Controls {
  /** `onChange(settings, done)`: done is false while a slider is still being moved. */
  constructor(fields, settings, onChange) {
    this.schema = Object.fromEntries(fields.map((field) => [field.name, field]));
    this.onChange = onChange;
    this.fields = Object.fromEntries(fields.map((field) => [
      field.name, new CONTROLS[field.control](field, (value, done) => this.change(field, value, done)),
    ]));
    byId('fields').replaceChildren(...Object.values(this.fields).map(({ element }) => element));
    // The symbol in the equation lights up with its control.
    for (const type of ['focusin', 'focusout', 'pointerover', 'pointerout']) {
      byId('fields').addEventListener(type, (event) => {
        lightUp(event.target.closest('.field')?.dataset.field, type === 'focusin' || type === 'pointerover');
      });
    }
    byId('settings').addEventListener('submit', (event) => event.preventDefault());
    this.show(settings);
  }

  /** A control has a new value. Matrices keep to the setting that is their size. */
  change(field, value, done) {
    const before = this.settings;
    const next = { ...before, [field.name]: value };
    for (const { name, size } of Object.values(this.schema)) {
      if (size === field.name && isSize(field, value)) next[name] = resized(before[name], value);
    }
    this.show(next);
    this.onChange(next, done);
  }

  show(settings) {
    this.settings = { ...settings };
    for (const control of Object.values(this.fields)) control.show(settings, this.sizeOf(control.field, settings));
  }

  /** The size of a matrix; its default while the setting that gives it is wrong. */
  sizeOf({ size }, settings) {
    const field = this.schema[size];
    return field && (isSize(field, settings[size]) ? settings[size] : field.default);
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
