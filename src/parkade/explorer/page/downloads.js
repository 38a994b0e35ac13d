// Downloads: pictures and animations made here, the run and the page made by the server.

import { byId, make } from './dom.js';
import { figurePng, figureSvg } from './figure.js';
import { recordGif, recordVideo, videoType } from './record.js';
import { Refusal, fetchFile } from './server.js';
import { toast } from './panels.js';
import { TABLES } from './tables.js';

function save(blob, name) {
  const address = URL.createObjectURL(blob);
  make('a', { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

/** A page that opens on a view, that of a link. */
async function withView(page, link) {
  const view = link.slice(1).replaceAll('&', '&amp;').replaceAll('"', '&quot;');
  const text = (await page.text()).replace(/ id="scene">/, () => ` data-view="${view}" id="scene">`);
  return new Blob([text], { type: page.type });
}

export class Downloads {
  constructor(state, progress, timeline) {
    Object.assign(this, { state, progress, timeline });
    this.recording = null; // AbortController of the animation being recorded
    for (const format of ['png', 'svg', 'video', 'gif', 'merges', 'plateaus', 'npz', 'html']) {
      byId(`download-${format}`).addEventListener('click', () => this.download(format));
    }
  }

  name(extension) { return `${this.state.scene.file_name ?? 'parkade'}.${extension}`; }

  async download(format) {
    byId('downloads').open = false;
    const { show, view } = this.state;
    if (!show) return;
    try {
      if (format === 'png') save(await figurePng(show, view), this.name('png'));
      else if (format === 'svg') save(figureSvg(show, view), this.name('svg'));
      else if (TABLES[format]) save(new Blob([TABLES[format](show.scene)], { type: 'text/csv' }), `${this.name('').slice(0, -1)}-${format}.csv`);
      else if (format === 'video' || format === 'gif') await this.record(format, show);
      else {
        toast(format === 'npz' ? 'Fetching the run…' : 'Writing the page…');
        const file = await fetchFile(format, show.settings);
        save(format === 'html' ? await withView(file, this.state.link()) : file, this.name(format));
        toast(format === 'npz' ? 'The run is saved: load it with parkade.load.' : 'The page is saved: it plays offline, from a file.');
      }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      toast(error.message);
    }
  }

  async record(format, show) {
    if (format === 'video' && !videoType()) {
      toast('This browser cannot record video; choose the GIF instead.');
      return;
    }
    this.recording?.abort();
    const mine = new AbortController();
    this.recording = mine;
    this.timeline.pause();
    this.progress.begin();
    const recorded = format === 'video' ? recordVideo : recordGif;
    const report = (share) => this.recording === mine && this.progress.tell(share);
    const blob = await recorded(show, { ...this.state.view }, this.timeline.speed, mine.signal, report);
    if (this.recording !== mine) return;
    this.recording = null;
    this.progress.end();
    if (blob) save(blob, this.name(format === 'gif' ? 'gif' : blob.type.split('/')[1]));
  }

  /** Stop the recording. */
  cancel() { this.recording?.abort(); }
}
