// The state of the page: one object that its parts share.

import { parseLink, writeLink } from './link.js';

export class State {
  /** `fields` are the schema's, `base` are the settings that a link need not name. */
  constructor(fields, base) {
    this.fields = fields;
    this.base = base;
    this.show = null; // { scene, settings, colors, paths } of the scene on the screen
    this.places = new Float64Array(0); // where tokens are drawn: x, y, depth
    this.readLink();
  }

  /** Take settings, view and time from the address. */
  readLink() {
    const { settings, view, t } = parseLink(location.hash, this.fields, this.base);
    this.settings = settings; // as the controls show them, also while a slider moves
    this.settled = settings; // as the link has them
    this.view = view;
    this.linkedTime = t; // to be shown with the next scene; null once that was done
  }

  /** The link of what is shown now. */
  link() {
    return writeLink(this.settled, this.view, this.time ?? this.linkedTime, this.fields, this.base);
  }

  /** The link of the settings and the view before their scene has arrived, without a time. */
  linkWithoutTime() {
    return writeLink(this.settings, this.view, null, this.fields, this.base);
  }

  get scene() { return this.show?.scene ?? null; }

  get time() { return this.show ? this.show.scene.time(this.view.u) : null; }

  /** Whether these are the settings the controls show. */
  isChosen(settings) {
    return this.fields.every(({ name }) => settings[name] === this.settings[name]);
  }

  /** Whether these are the settings of an address that names none. */
  get isBase() { return this.fields.every(({ name }) => this.settings[name] === this.base[name]); }

  /** Show the picture from its usual side. */
  resetView() { Object.assign(this.view, { turn: null, zoom: 1, pan: [0, 0] }); }
}
