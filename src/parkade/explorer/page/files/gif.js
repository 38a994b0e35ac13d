// Writes animated GIFs: a palette of the most frequent colours, and LZW.

/** 256 colours: the means of the most frequent cells of a coarse cube of colours. */
function gifPalette(frames) {
  const cells = new Map();
  for (const pixels of frames) {
    for (let i = 0; i < pixels.length; i += 4) {
      const [r, g, b] = [pixels[i], pixels[i + 1], pixels[i + 2]];
      const key = ((r >> 3) << 10) | ((g >> 3) << 5) | (b >> 3);
      const cell = cells.get(key);
      if (cell) {
        cell[0]++;
        cell[1] += r;
        cell[2] += g;
        cell[3] += b;
      } else cells.set(key, [1, r, g, b]);
    }
  }
  const most = [...cells.values()].sort((a, b) => b[0] - a[0]).slice(0, 256);
  const colors = most.map(([count, ...sums]) => sums.map((sum) => Math.round(sum / count)));
  while (colors.length < 256) colors.push([0, 0, 0]);
  return colors;
}

class ByteSink {
  constructor() {
    this.data = new Uint8Array(1 << 16);
    this.length = 0;
  }

  byte(value) {
    if (this.length === this.data.length) {
      const grown = new Uint8Array(2 * this.length);
      grown.set(this.data);
      this.data = grown;
    }
    this.data[this.length++] = value;
  }

  bytes(...values) { for (const value of values) this.byte(value); }
  short(value) { this.bytes(value & 255, value >> 8); }
  text(value) { this.bytes(...[...value].map((c) => c.charCodeAt(0))); }
}

/** The LZW codes of indices (8 bits each), in blocks of at most 255 bytes. */
function lzw(sink, indices) {
  let block = [];
  let bits = 0;
  let held = 0;
  const put = (code, width) => {
    held |= code << bits;
    bits += width;
    while (bits >= 8) {
      block.push(held & 255);
      held >>>= 8;
      bits -= 8;
      if (block.length === 255) flush();
    }
  };
  const flush = () => {
    sink.bytes(block.length, ...block);
    block = [];
  };
  sink.byte(8);
  let table = new Map();
  let width = 9;
  let next = 258;
  put(256, width);
  let prefix = indices[0];
  for (let i = 1; i < indices.length; i++) {
    const key = (prefix << 8) | indices[i];
    const code = table.get(key);
    if (code !== undefined) { prefix = code; continue; }
    put(prefix, width);
    if (next === 4096) {
      put(256, width);
      table = new Map();
      width = 9;
      next = 258;
    } else {
      if (next >= 1 << width) width++;
      table.set(key, next++);
    }
    prefix = indices[i];
  }
  put(prefix, width);
  put(257, width);
  if (bits > 0) block.push(held & 255);
  if (block.length) flush();
  sink.byte(0);
}

/**
 * Frames (RGBA pixels, width × height) as an endlessly repeating GIF.
 * `delay` is in hundredths of a second; `last` is that of the last frame.
 */
export async function encodeGif(frames, width, height, delay, last, onProgress) {
  const colors = gifPalette(frames);
  const nearest = new Map();
  const indexOf = (r, g, b) => {
    const key = ((r >> 3) << 10) | ((g >> 3) << 5) | (b >> 3);
    let best = nearest.get(key);
    if (best === undefined) {
      let least = Infinity;
      colors.forEach((c, i) => {
        const apart = (c[0] - r) ** 2 + (c[1] - g) ** 2 + (c[2] - b) ** 2;
        if (apart < least) { least = apart; best = i; }
      });
      nearest.set(key, best);
    }
    return best;
  };
  const sink = new ByteSink();
  sink.text('GIF89a');
  sink.short(width);
  sink.short(height);
  sink.bytes(0xf7, 0, 0, ...colors.flat());
  sink.bytes(0x21, 0xff, 11);
  sink.text('NETSCAPE2.0');
  sink.bytes(3, 1, 0, 0, 0);
  for (let f = 0; f < frames.length; f++) {
    const pixels = frames[f];
    const indices = new Uint8Array(width * height);
    for (let i = 0; i < indices.length; i++) indices[i] = indexOf(pixels[4 * i], pixels[4 * i + 1], pixels[4 * i + 2]);
    sink.bytes(0x21, 0xf9, 4, 4);
    sink.short(f === frames.length - 1 ? last : delay);
    sink.bytes(0, 0, 0x2c);
    for (const value of [0, 0, width, height]) sink.short(value);
    sink.byte(0);
    lzw(sink, indices);
    onProgress((f + 1) / frames.length);
    // Let the page respond between frames.
    await new Promise((resolve) => { setTimeout(resolve); });
  }
  sink.byte(0x3b);
  return new Blob([sink.data.subarray(0, sink.length)], { type: 'image/gif' });
}
