// The bar of something that takes a while: a run, or a recording.

import { byId } from '../dom.js';

const PATIENCE = 150; // milliseconds; what ends sooner shows no bar

export class Progress {
  /** `id` is that of the box; its parts are id-bar and id-text. */
  constructor(id, verb) {
    this.id = id;
    this.verb = verb;
    this.timer = null;
    this.share = 0;
    this.sentence = '';
  }

  part(name) { return byId(`${this.id}-${name}`); }

  /** Something has begun. If it takes the place of something else, the reader has waited since that began. */
  begin() {
    this.update(0);
    this.timer ??= setTimeout(() => this.show(), PATIENCE);
  }

  show() {
    byId(this.id).hidden = false;
    this.update(this.share);
  }

  update(share) {
    this.share = share;
    const percentage = Math.round(100 * share);
    this.part('bar').style.width = `${percentage}%`;
    this.part('bar').setAttribute('aria-valuenow', String(percentage));
    byId(this.id).classList.toggle('waiting', share === 0);
    this.part('text').textContent = share > 0 ? `${this.verb} ${percentage} %` : this.sentence || this.verb;
  }

  /** Say what is waited for, until something is done. */
  note(sentence) {
    this.sentence = sentence;
    this.show();
  }

  end() {
    clearTimeout(this.timer);
    this.timer = null;
    this.share = 0;
    this.sentence = '';
    byId(this.id).hidden = true;
  }
}
