// The token that is pointed at, and the one that is selected.

import { byId } from '../dom.js';
import { showTip, showToken } from '../panels/token.js';

export class Selection {
  /** `host` has the callbacks changed() and done(). */
  constructor(state, host) {
    this.state = state;
    this.host = host;
    byId('token-clear').addEventListener('click', () => this.choose(null));
    byId('token').addEventListener('input', ({ target: { value } }) => {
      const k = Number(value);
      const exists = value !== '' && Number.isInteger(k) && k >= 1 && state.show && k <= state.scene.n;
      this.choose(exists ? k - 1 : null);
    });
  }

  /** Point at a token, or at none. */
  hover(token, event = null) {
    const { scene, view } = this.state;
    if (!scene || (token === null && view.hover === null)) return;
    view.hover = token;
    showTip(scene, view, event);
    this.host.changed();
  }

  /** Select a token, or none. */
  choose(token) {
    this.state.view.token = token;
    this.host.changed();
    this.host.done();
  }

  /** Select a token, or none if it is selected already. */
  toggle(token) { this.choose(token === this.state.view.token ? null : token); }

  /** Select the next or the previous token, and say which. */
  step(way) {
    const { scene, view } = this.state;
    if (!scene) return;
    const first = way > 0 ? 0 : scene.n - 1;
    this.choose(view.token === null ? first : (view.token + way + scene.n) % scene.n);
    showToken(scene, view);
    byId('summary').textContent = byId('token-text').textContent;
  }

  clear() {
    this.hover(null);
    this.choose(null);
  }
}
