// The progress bar of a run or a recording.

import { byId } from './dom.js';

const PATIENCE = 150; // milliseconds; what ends sooner shows no bar

export class Progress {
  constructor() {
    this.share = 0;
    this.verb = 'computing…';
    this.sentence = '';
  }

  /** Something has begun. The picture fades if another one is about to replace it. */
  begin(verb, fades) {
    this.end();
    this.verb = verb;
    this.fades = fades;
    this.timer = setTimeout(() => this.show(), PATIENCE);
  }

  show() {
    clearTimeout(this.timer);
    byId('progress').hidden = false;
    byId('ball').classList.toggle('stale', this.fades);
    this.tell(this.share);
  }

  tell(share) {
    this.share = share;
    const percentage = Math.round(100 * share);
    byId('progress-bar').style.width = `${percentage}%`;
    byId('progress-bar').setAttribute('aria-valuenow', String(percentage));
    byId('progress').classList.toggle('waiting', share === 0);
    byId('progress-text').textContent = share > 0 ? `${this.verb} ${percentage} %` : this.sentence || this.verb;
  }

  /** Say what is waited for, until something is done. */
  note(sentence) {
    this.sentence = sentence;
    this.show();
  }

  end() {
    clearTimeout(this.timer);
    this.share = 0;
    this.sentence = '';
    byId('progress').hidden = true;
    byId('ball').classList.remove('stale');
  }
}
