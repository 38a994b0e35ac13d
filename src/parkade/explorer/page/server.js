// The server as the source of scenes: the schema, presets, runs that stream their progress, downloads.
//
// A source is where a page gets all it shows; the rest of the page does not know which one it has. It has
//   schema()      Promise of { fields, equation }
//   presets()     Promise of a list of { name, title, about, settings }
//   recorded(name)  Promise of the data of a recorded scene; has(name) says whether there is one
//   scene(settings, { signal, onProgress, onNote })   Promise of the data of a scene
//   stairs(settings, signal)    Promise of { seen, forecast }
//   file(format, { scene, settings }, view)   Promise of a Blob, of what is shown; `formats` are those it has
//   answers()     Promise of whether it is there at all
//   warms         whether a first run makes the next ones fast, or else warm(settings) does
// A Promise of something that cannot be had is rejected with a Refusal. The other source is Local (local.js).

import { Refusal } from './refusal.js';

const LOST = 'The server does not answer. Is “parkade explore” still running?';

async function answer(path, body, signal) {
  const options = body === undefined ? {} : {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body),
  };
  let response;
  try {
    response = await fetch(path, { ...options, signal });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Refusal({ error: LOST }, true);
  }
  if (response.ok) return response;
  const data = await response.json().catch(() => ({}));
  throw new Refusal({ error: `The server answered with status ${response.status}.`, ...data });
}

export class Server {
  formats = ['npz', 'html', 'live'];

  warms = true;

  answers() { return fetch('/api/schema').then(({ ok }) => ok, () => false); }

  async schema() { return (await answer('/api/schema')).json(); }

  async presets() { return (await answer('/api/presets')).json(); }

  has() { return true; }

  async recorded(name) { return (await answer(`/api/recorded/${name}`)).json(); }

  async file(format, { settings }, view) {
    const file = await (await answer(`/api/download/${format}`, settings)).blob();
    return format === 'npz' ? file : withView(file, view);
  }

  scene(settings, heard) { return computed('/api/run', settings, heard); }

  stairs(settings, signal) { return computed('/api/stairs', settings, { signal, onProgress() {}, onNote() {} }); }
}

/** A page that opens on a view, that of a link. */
async function withView(page, link) {
  const view = link.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
  const text = (await page.text()).replace(/ id="scene">/, () => ` data-view="${view}" id="scene">`);
  return new Blob([text], { type: page.type });
}

async function computed(path, settings, { signal, onProgress, onNote }) {
  const response = await answer(path, settings, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  // A scene is one line of megabytes in many pieces, which are joined once, at its end.
  let pieces = [];
  const hear = (line) => {
    if (!line.trim()) return null;
    const message = JSON.parse(line);
    if (message.error) throw new Refusal(message);
    if (message.progress !== undefined) onProgress(message.progress);
    if (message.note) onNote(message.note);
    return message.scene ?? null;
  };
  try {
    for (;;) {
      const { done, value } = await reader.read();
      const lines = (done ? '\n' : value).split('\n');
      for (let i = 0; i < lines.length; i++) {
        pieces.push(lines[i]);
        if (i === lines.length - 1) break;
        const scene = hear(pieces.join(''));
        pieces = [];
        if (scene) return scene;
      }
      if (done) throw new Refusal({ error: 'The server ended the run without a scene. Try again.' });
    }
  } catch (error) {
    if (error instanceof Refusal || error.name === 'AbortError') throw error;
    throw new Refusal({ error: LOST }, true);
  }
}
