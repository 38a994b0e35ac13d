// Files to take away: pictures and films made here, the run and the page by the server.

import { byId, make } from './dom.js';
import { figurePng, figureSvg } from './figure.js';
import { recordGif, recordVideo, videoType } from './record.js';
import { Refusal, fetchFile } from './server.js';
import { toast } from './panels.js';

function offer(blob, name) {
  const address = URL.createObjectURL(blob);
  make('a', { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

export class Takeaway {
  /** `host` gives show(), view(), settings(), speed(), and pauses with pause(). */
  constructor(progress, host) {
    this.progress = progress;
    this.host = host;
    this.film = null; // AbortController of the film being made
    for (const kind of ['png', 'svg', 'video', 'gif', 'npz', 'html']) {
      byId(`download-${kind}`).addEventListener('click', () => this.take(kind));
    }
  }

  name(ending) {
    const { n, d, beta, mask } = this.host.show().scene;
    return `parkade-${mask === 'full' ? 'full-' : ''}n${n}-d${d}-beta${beta}.${ending}`;
  }

  async take(kind) {
    byId('downloads').open = false;
    const show = this.host.show();
    if (!show) return;
    try {
      if (kind === 'png') offer(await figurePng(show, this.host.view()), this.name('png'));
      else if (kind === 'svg') offer(figureSvg(show, this.host.view()), this.name('svg'));
      else if (kind === 'video' || kind === 'gif') await this.record(kind, show);
      else {
        toast(kind === 'npz' ? 'Fetching the run…' : 'Writing the page…');
        offer(await fetchFile(kind, this.host.settings()), this.name(kind));
        toast(kind === 'npz' ? 'The run is saved: load it with parkade.load.' : 'The page is saved: it plays offline, from a file.');
      }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      toast(error.message);
    }
  }

  async record(kind, show) {
    if (kind === 'video' && !videoType()) {
      toast('This browser cannot record video; take the GIF instead.');
      return;
    }
    this.film?.abort();
    const mine = new AbortController();
    this.film = mine;
    this.host.pause();
    this.progress.begin('recording…', false);
    const filmed = kind === 'video' ? recordVideo : recordGif;
    const blob = await filmed(show, { ...this.host.view() }, this.host.speed(), mine.signal, (share) => this.film === mine && this.progress.tell(share));
    if (this.film !== mine) return;
    this.film = null;
    this.progress.end();
    if (blob) offer(blob, this.name(kind === 'gif' ? 'gif' : blob.type.split('/')[1]));
  }

  /** Stop the film being made, if there is one. */
  cancel() {
    const filming = this.film !== null;
    this.film?.abort();
    return filming;
  }
}
