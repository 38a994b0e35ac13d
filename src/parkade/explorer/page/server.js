// Requests to the server: the schema, presets, runs that stream their progress, downloads.

import { typeset } from './format.js';

/** What the server refused, in its words: a sentence for each setting concerned, or one for none. */
export class Refusal extends Error {
  constructor({ error, field = null, others = [] }, lost = false) {
    super(typeset(error));
    this.wrong = [{ error, field }, ...others].map((one) => ({ ...one, error: typeset(one.error) }));
    this.lost = lost; // there was no answer at all
  }
}

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
  const told = await response.json().catch(() => ({}));
  throw new Refusal({ error: `The server answered with status ${response.status}.`, ...told });
}

/** Whether the server answers at all. */
export const answers = () => fetch('/api/schema').then(({ ok }) => ok, () => false);

export const fetchSchema = async () => (await answer('/api/schema')).json();

/** A scene that comes with the server, computed before. */
export const fetchRecorded = async (name) => (await answer(`/api/recorded/${name}`)).json();

export const fetchPresets = async () => (await answer('/api/presets')).json();

export const fetchFile = async (format, settings) => (await answer(`/api/download/${format}`, settings)).blob();

/** Compute a scene; meanwhile `onProgress` hears shares from 0 to 1, and `onNote` sentences. */
export const fetchScene = (settings, heard) => fetchComputed('/api/run', settings, heard);

/** Compute the times at which clusters merge, seen and foretold. */
export const fetchStairs = (settings, signal) => fetchComputed('/api/stairs', settings, { signal, onProgress() {}, onNote() {} });

async function fetchComputed(path, settings, { signal, onProgress, onNote }) {
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
