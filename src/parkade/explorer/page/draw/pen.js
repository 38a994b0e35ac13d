// A pen that writes SVG and has the canvas methods that the drawings use, so that the same
// code draws the page and a downloaded SVG.

const escaped = (text) =>
  String(text).replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);
const coordinate = (x) => String(Math.round(x * 100) / 100);

export class SvgPen {
  constructor(width, height) {
    this.width = width;
    this.height = height;
    this.parts = [];
    this.defs = [];
    this.path = [];
    this.saved = [];
    this.state = {
      fillStyle: '#000', strokeStyle: '#000', lineWidth: 1, globalAlpha: 1, font: '10px sans-serif',
      textAlign: 'start', textBaseline: 'alphabetic', lineCap: 'butt', lineJoin: 'miter', dash: [],
    };
    for (const name of Object.keys(this.state)) {
      Object.defineProperty(this, name, {
        get: () => this.state[name],
        set: (value) => { this.state[name] = value; },
      });
    }
  }

  save() { this.saved.push({ ...this.state }); }
  restore() { this.state = this.saved.pop() ?? this.state; }
  setLineDash(dash) { this.state.dash = dash; }
  beginPath() { this.path = []; }
  moveTo(x, y) { this.path.push(`M${coordinate(x)} ${coordinate(y)}`); }
  lineTo(x, y) { this.path.push(`${this.path.length ? 'L' : 'M'}${coordinate(x)} ${coordinate(y)}`); }
  closePath() { this.path.push('Z'); }

  rect(x, y, w, h) {
    this.path.push(`M${coordinate(x)} ${coordinate(y)}h${coordinate(w)}v${coordinate(h)}h${coordinate(-w)}Z`);
  }

  arc(x, y, r, from, to) {
    const point = (angle) => `${coordinate(x + r * Math.cos(angle))} ${coordinate(y + r * Math.sin(angle))}`;
    const radius = coordinate(r);
    if (Math.abs(to - from) >= 2 * Math.PI - 1e-9) {
      const [a, b] = [point(0), point(Math.PI)];
      this.path.push(`M${a}A${radius} ${radius} 0 1 1 ${b}A${radius} ${radius} 0 1 1 ${a}Z`);
      return;
    }
    const large = to - from > Math.PI ? 1 : 0;
    this.path.push(`${this.path.length ? 'L' : 'M'}${point(from)}A${radius} ${radius} 0 ${large} 1 ${point(to)}`);
  }

  createRadialGradient(x0, y0, r0, x1, y1, r1) {
    const id = `g${this.defs.length}`;
    const stops = [];
    this.defs.push({ id, fx: x0, fy: y0, x: x1, y: y1, r: r1, stops });
    return { url: `url(#${id})`, addColorStop: (at, color) => stops.push([at, color]) };
  }

  alpha() { return this.globalAlpha < 1 ? ` opacity="${coordinate(this.globalAlpha)}"` : ''; }
  paint(style) { return escaped(style.url ?? style); }

  fill() {
    if (!this.path.length) return;
    this.parts.push(`<path d="${this.path.join('')}" fill="${this.paint(this.fillStyle)}"${this.alpha()}/>`);
  }

  stroke() {
    if (!this.path.length) return;
    const dash = this.state.dash.length ? ` stroke-dasharray="${this.state.dash.join(' ')}"` : '';
    this.parts.push(
      `<path d="${this.path.join('')}" fill="none" stroke="${this.paint(this.strokeStyle)}"` +
      ` stroke-width="${coordinate(this.lineWidth)}" stroke-linecap="${this.lineCap}"` +
      ` stroke-linejoin="${this.lineJoin}"${dash}${this.alpha()}/>`,
    );
  }

  fillRect(x, y, w, h) {
    this.beginPath();
    this.rect(x, y, w, h);
    this.fill();
  }

  fillText(text, x, y) { this.text(text, x, y, ` fill="${this.paint(this.fillStyle)}"`); }

  strokeText(text, x, y) {
    this.text(text, x, y, ` fill="none" stroke="${this.paint(this.strokeStyle)}" stroke-width="${coordinate(this.lineWidth)}" stroke-linejoin="round"`);
  }

  text(text, x, y, paint) {
    const anchor = { center: 'middle', right: 'end', end: 'end' }[this.textAlign] ?? 'start';
    const size = parseFloat(/([\d.]+)px/.exec(this.font)[1]);
    // Baselines are computed here, since viewers disagree about dominant-baseline.
    const down = { middle: 0.35, top: 0.8, bottom: -0.2 }[this.textBaseline] ?? 0;
    const family = this.font.slice(this.font.indexOf('px') + 2).trim();
    const slant = this.font.includes('italic') ? ' font-style="italic"' : '';
    const weight = /\b(bold|600)\b/.test(this.font) ? ' font-weight="600"' : '';
    this.parts.push(
      `<text x="${coordinate(x)}" y="${coordinate(y + down * size)}" font-size="${size}"` +
      ` font-family="${escaped(family)}"${slant}${weight} text-anchor="${anchor}"${paint}${this.alpha()}>${escaped(text)}</text>`,
    );
  }

  measureText(text) {
    return { width: String(text).length * parseFloat(/([\d.]+)px/.exec(this.font)[1]) * 0.55 };
  }

  toString(title) {
    const gradients = this.defs.map(({ id, fx, fy, x, y, r, stops }) =>
      `<radialGradient id="${id}" gradientUnits="userSpaceOnUse" fx="${coordinate(fx)}" fy="${coordinate(fy)}"` +
      ` cx="${coordinate(x)}" cy="${coordinate(y)}" r="${coordinate(r)}">` +
      stops.map(([at, color]) => `<stop offset="${at}" stop-color="${escaped(color)}"/>`).join('') +
      '</radialGradient>').join('');
    return `<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg"` +
      ` width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}">` +
      `<title>${escaped(title)}</title><defs>${gradients}</defs>\n${this.parts.join('\n')}\n</svg>\n`;
  }
}
