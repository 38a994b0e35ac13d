// What a page without a server has with it: engines, the schema, presets, recorded scenes, the script of its
// Worker. A file has them inside, as base64 of gzip; a folder has them as files.

import { base64, bytesOf } from '../files/base64.js';
import { Refusal } from '../refusal.js';

const PACKED = 'This browser does not have DecompressionStream, so it cannot unpack this page; a newer one can.';

/** What was packed as base64 of gzip. */
const unpacked = (text) => new Response(new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream('gzip')));

/** What is unpacked by `unpacked`. */
async function packed(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream('gzip'));
  return base64(new Uint8Array(await new Response(stream).arrayBuffer()));
}

/** The elements of a file. */
export class Inside {
  constructor() {
    const root = document.documentElement;
    this.text = root.dataset.live ? root.outerHTML : ''; // before anything is changed
  }

  /** The files that it can write. */
  get formats() { return this.text ? ['live'] : []; }

  /** This file with another scene in it, which opens on a view, that of a link. */
  async file(format, { scene }, view) {
    const shown = document.createElement('script');
    Object.assign(shown, { type: 'application/json', id: 'scene', textContent: await packed(JSON.stringify(scene.toData())) });
    Object.assign(shown.dataset, { packed: '', view });
    const text = this.text.replace(/<script [^>]*\bid="scene"[^>]*>[^<]*<\/script>/, () => shown.outerHTML);
    return new Blob([`<!doctype html>\n${text}`], { type: 'text/html' });
  }

  /** The data of the scene that the file shows. */
  async own() {
    const element = document.getElementById('scene');
    if (!('packed' in element.dataset)) return JSON.parse(element.textContent);
    if (typeof DecompressionStream !== 'function') throw new Refusal({ error: PACKED });
    return unpacked(element.textContent).json();
  }

  element(name) { return document.querySelector(`[data-carried="${name}"]`); }

  has(name) { return this.recordedElement(name) !== null; }

  recordedElement(name) { return document.querySelector(`[data-recorded="${name}"]`); }

  async recorded(name) {
    const element = this.recordedElement(name);
    return element.id === 'scene' ? this.own() : JSON.parse(element.textContent);
  }

  bytes(name) { return unpacked(this.element(name).textContent).arrayBuffer(); }

  json(name) { return unpacked(this.element(name).textContent).json(); }
}

/** The files of a folder. */
export class Folder {
  formats = [];

  async own() { return null; }

  has() { return true; }

  recorded(name) { return this.json(`scenes/${name}.json`); }

  async bytes(name) { return (await fetch(name)).arrayBuffer(); }

  async json(name) { return (await fetch(name)).json(); }
}
