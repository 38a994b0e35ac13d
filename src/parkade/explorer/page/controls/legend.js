// What is drawn: the colours of tokens, and the parts of the picture that can be left out.

import { byId } from '../dom.js';
import { TOGGLES } from './link.js';

const COLORS = ['cluster', 'position'];

export class Legend {
  /** `host` has the callback changed(). */
  constructor(state, host) {
    this.state = state;
    this.host = host;
    for (const name of Object.keys(TOGGLES)) byId(`show-${name}`).addEventListener('click', () => this.toggle(name));
    for (const color of COLORS) byId(`color-${color}`).addEventListener('click', () => this.color(color));
    this.show();
  }

  color(name) {
    this.state.view.color = name;
    this.show();
    this.host.changed();
  }

  otherColor() { this.color(COLORS.find((name) => name !== this.state.view.color)); }

  toggle(name) {
    const button = byId(`show-${name}`);
    if (button.disabled || button.closest('[hidden]')) return;
    this.state.view[name] = !this.state.view[name];
    this.show();
    this.host.changed();
  }

  show() {
    const { view } = this.state;
    const press = (id, pressed) => byId(id).setAttribute('aria-pressed', String(pressed));
    for (const name of Object.keys(TOGGLES)) press(`show-${name}`, view[name]);
    for (const color of COLORS) press(`color-${color}`, view.color === color);
  }
}
