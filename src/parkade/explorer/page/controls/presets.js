// The menu of settings to start from.

import { byId, make } from '../dom.js';
import { Refusal } from '../refusal.js';

export class Presets {
  /** `onChoose(settings)` is called when a preset is chosen. */
  constructor(state, source, onChoose) {
    this.state = state;
    this.source = source;
    this.list = [];
    byId('preset').addEventListener('change', ({ target }) => {
      const preset = this.list.find(({ name }) => name === target.value);
      if (preset) onChoose({ ...state.base, ...preset.settings });
    });
  }

  async load() {
    try {
      this.list = await this.source.presets();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return; // the run reports that the server does not answer
    }
    byId('preset').append(...this.list.map(({ name, title }) => make('option', { value: name, textContent: title })));
    this.show();
  }

  /** Name the preset whose settings are shown, if there is one. */
  show() {
    const preset = this.list.find(({ settings }) => this.state.isChosen({ ...this.state.base, ...settings }));
    byId('preset').value = preset?.name ?? '';
    byId('about').textContent = preset?.about ?? '';
  }
}
