// The state of the page: one object that its parts share.

import { opens, parseLink, writeLink } from './controls/link.js';

export class State {
  /** `fields` are the schema's, `base` are the settings that a link need not name, and `usual` is a link for no link. */
  constructor(fields, base, usual = '') {
    this.usual = usual; // the link of an address that names nothing
    this.fields = fields;
    this.base = base;
    this.show = null; // { scene, settings, colors, paths } of the scene on the screen
    this.places = new Float64Array(0); // where tokens are drawn: x, y, depth
    this.plateauNames = []; // where the time line names its plateaus
    this.opening = null; // the settings of an address that names nothing
    this.readLink();
  }

  get hash() { return location.hash.length > 1 ? location.hash : this.usual; }

  /** Take settings, view and time from the address. */
  readLink() {
    const { settings, view, t, tour, talk, beside, many } = parseLink(this.hash, this.fields, this.base);
    this.settings = (opens(this.hash) && this.opening) || settings; // as the controls show them, also while a slider moves
    this.settled = this.settings; // as the link has them
    this.view = view;
    this.tour = tour; // the step of the tour, from 1, or null
    this.beside = beside; // what is shown beside the scene: see Beside
    this.many = many; // whether other seeds are shown: see Many
    this.talk = talk; // whether this is a presentation
    this.linkedTime = t; // to be shown with the next scene; null once that was done
  }

  /** Take these settings for addresses that name nothing. */
  open(settings) {
    this.opening = settings;
    this.readLink();
  }

  /** The link of what is shown now. */
  link() {
    const talk = this.talk ? '&talk=1' : '';
    if (this.tour !== null) return `#tour=${this.tour}${talk}`;
    return writeLink(this.settled, this.view, this.time ?? this.linkedTime, this.fields, this.base) + this.compared() + talk;
  }

  /** The part of a link on what is shown with the run: a second scene, other seeds. */
  compared() {
    const beside = this.beside ? `&beside=${encodeURIComponent(this.beside).replace('%3A', ':')}` : '';
    return beside + (this.many ? '&many=1' : '');
  }

  /** The link of the settings and the view before their scene has arrived, without a time. */
  linkWithoutTime() {
    return writeLink(this.settings, this.view, null, this.fields, this.base);
  }

  /** Whether the scene on the screen is of other settings than the controls show. */
  get stale() { return this.show !== null && !this.isChosen(this.show.settings); }

  /** The link of the picture, also while the controls are ahead of it. */
  linkOfPicture() {
    if (!this.show || this.tour !== null) return this.link();
    return writeLink(this.show.settings, this.view, this.time, this.fields, this.base) + this.compared();
  }

  get scene() { return this.show?.scene ?? null; }

  /** Choose no token that the scene does not have: a link may name any. */
  checkToken() { if (this.view.token >= this.scene.n) this.view.token = null; }

  get time() { return this.show ? this.show.scene.time(this.view.u) : null; }

  /** Whether these are the settings the controls show. */
  isChosen(settings) {
    return this.fields.every(({ name }) => settings[name] === this.settings[name]);
  }

  /** Show the picture from its usual side. */
  resetView() { Object.assign(this.view, { turn: null, zoom: 1, pan: [0, 0] }); }
}
