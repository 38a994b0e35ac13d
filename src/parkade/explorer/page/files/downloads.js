// Downloads: pictures, animations and tables made here, the run and the page by the source of scenes.

import { byId, make } from '../dom.js';
import { figurePng, figureSvg } from '../draw/figure.js';
import { recordGif, recordVideo, videoType } from './record.js';
import { toast } from '../panels/panels.js';
import { sentenceOf } from '../refusal.js';
import { TABLES } from './tables.js';

function save(blob, name) {
  const address = URL.createObjectURL(blob);
  make('a', { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

const FILES = {
  npz: { begins: 'Fetching the run…', ends: 'The run is saved: load it with parkade.load.', extension: 'npz' },
  html: { begins: 'Writing the page…', ends: 'The page is saved: it plays offline, from a file.', extension: 'html' },
  live: { begins: 'Writing the page…', ends: 'The page is saved: its controls work offline, from a file.', extension: 'html' },
};

export class Downloads {
  constructor(state, source, progress, timeline) {
    Object.assign(this, { state, source, progress, timeline });
    this.recording = null; // AbortController of the animation being recorded
    for (const format of ['png', 'svg', 'video', 'gif', 'merges', 'plateaus', ...Object.keys(FILES)]) {
      byId(`download-${format}`).addEventListener('click', () => this.download(format));
    }
    for (const format of Object.keys(FILES)) byId(`download-${format}`).hidden = !source.formats.includes(format);
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
        const { begins, ends, extension } = FILES[format];
        toast(begins);
        save(await this.source.file(format, show, this.state.link().slice(1)), this.name(extension));
        toast(ends);
      }
    } catch (error) {
      toast(sentenceOf(error));
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
    const report = (share) => this.recording === mine && this.progress.update(share);
    const blob = await recorded(show, { ...this.state.view }, this.timeline.speed, mine.signal, report);
    if (this.recording !== mine) return;
    this.recording = null;
    this.progress.end();
    if (blob) save(blob, this.name(format === 'gif' ? 'gif' : blob.type.split('/')[1]));
  }

  /** Stop the recording that is under way. */
  cancel() { this.recording?.abort(); }
}
