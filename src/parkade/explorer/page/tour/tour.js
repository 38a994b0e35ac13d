// The guided tour: a card beside the picture, one step after the other. Its link is #tour=3.

import { byId, make } from '../dom.js';
import { STEPS } from './steps.js';
import { TOGGLES } from '../controls/link.js';

const root = document.documentElement;

/** A text whose equations are not broken into lines. */
const whole = (text) => text.replaceAll(' = ', '\u00a0=\u00a0');

export class Tour {
  /**
   * `host` has recorded(name), a Promise of a scene or null; take(scene, view, t), which shows one, and
   * compare(scene, names), which shows another beside it; play(t), which plays until a time; commit(), for a step that
   * undo takes back; and the callback left().
   */
  constructor(state, host, known = () => true) {
    this.state = state;
    this.host = host;
    this.steps = STEPS.filter(({ scene, beside }) => known(scene) && (!beside || known(beside))); // a file has few scenes
    this.going = 0; // counts calls, since a scene may arrive after the reader has gone on
    const press = (id, action) => byId(id).addEventListener('click', action);
    press('tour-open', () => this.go(1));
    press('tour-back', () => this.go(this.state.tour - 1));
    press('tour-next', () => this.next());
    press('tour-leave', () => this.leave());
    byId('tour-open').hidden = !this.steps.length;
    byId('tour-steps').append(...this.steps.map(({ title }, i) => make(
      'li', {}, make('button', { type: 'button', title, 'aria-label': `Step ${i + 1}: ${title}`, onclick: () => this.go(i + 1) }),
    )));
  }

  get on() { return this.state.tour !== null; }
  get busy() { return this.loading ?? false; }

  /** The step after this one; after the last, the page itself. */
  next() {
    if (this.state.tour < this.steps.length) this.go(this.state.tour + 1);
    else this.leave();
  }

  /** To a step, from 1; `known` if the address has it already. */
  async go(number, known = false) {
    if (!this.steps.length) return;
    const at = Math.min(this.steps.length, Math.max(1, number));
    const mine = ++this.going;
    const step = this.steps[at - 1];
    this.loading = true;
    try {
      const scene = await this.host.recorded(step.scene);
      const second = step.beside ? await this.host.recorded(step.beside) : null;
      if (mine !== this.going) return;
      const entered = this.state.tour === null || root.dataset.tour === undefined;
      this.state.tour = at;
      root.dataset.tour = String(at);
      this.show(step, at, scene);
      const toggles = Object.fromEntries(Object.keys(TOGGLES).map((name) => [name, step.show.includes(name)]));
      this.host.take(scene, { color: step.color, ...toggles, token: null }, step.from);
      if (second) this.host.compare(second, step.names);
      if (!known) this.host.commit();
      if (step.to > step.from) this.host.play(step.to);
      if (entered) byId('tour-next').focus({ preventScroll: true });
    } finally {
      if (mine === this.going) this.loading = false;
    }
  }

  show({ title, text }, at, scene) {
    byId('tour').hidden = false;
    byId('tour-count').textContent = `${at} of ${this.steps.length}`;
    byId('tour-title').textContent = title;
    byId('tour-text').replaceChildren(...text(scene).map((paragraph) => make('p', { textContent: whole(paragraph) })));
    byId('tour-back').disabled = at === 1;
    byId('tour-next').textContent = at < this.steps.length ? 'Next' : 'Explore';
    byId('tour-leave').hidden = at === this.steps.length;
    [...byId('tour-steps').querySelectorAll('button')].forEach((button, i) => {
      if (i + 1 === at) button.setAttribute('aria-current', 'step');
      else button.removeAttribute('aria-current');
    });
  }

  /** Leave the card, with everything it has shown; `known` if the address has left already. */
  leave(known = false) {
    if (root.dataset.tour === undefined) return;
    this.going += 1;
    this.loading = false;
    this.state.tour = null;
    delete root.dataset.tour;
    byId('tour').hidden = true;
    this.host.left(known);
    byId('tour-open').focus({ preventScroll: true });
  }
}
