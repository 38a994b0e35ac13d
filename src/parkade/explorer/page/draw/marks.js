// What all drawings are made of, with any pen: fonts, lines, discs, other marks, and words with a rim.

export const SANS = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
export const SERIF = '"STIX Two Text", "Iowan Old Style", Georgia, "Times New Roman", "Liberation Serif", serif';

/** The colour and the width of lines. */
export function setStroke(pen, color, width) {
  pen.strokeStyle = color;
  pen.lineWidth = width;
}

/** The font of words and where they are around their point. */
export function setText(pen, font, align, baseline) {
  pen.font = font;
  pen.textAlign = align;
  pen.textBaseline = baseline;
}

/** Draw something with this opacity. */
export function faded(pen, alpha, draw) {
  pen.globalAlpha = alpha;
  draw();
  pen.globalAlpha = 1;
}

/** A path through points [x, y]. */
function path(pen, points) {
  pen.beginPath();
  points.forEach(([x, y], i) => (i ? pen.lineTo(x, y) : pen.moveTo(x, y)));
}

/** A line through points [x, y]. */
export function line(pen, ...points) {
  path(pen, points);
  pen.stroke();
}

export function disc(pen, x, y, r, color) {
  pen.fillStyle = color;
  pen.beginPath();
  pen.arc(x, y, r, 0, 2 * Math.PI);
  pen.fill();
}

export function ring(pen, x, y, r, color, width) {
  setStroke(pen, color, width);
  pen.beginPath();
  pen.arc(x, y, r, 0, 2 * Math.PI);
  pen.stroke();
}

export function star(pen, x, y, r, color, edge) {
  path(pen, Array.from({ length: 10 }, (_, i) => {
    const reach = i % 2 ? 0.45 * r : r;
    const angle = (i * Math.PI) / 5 - Math.PI / 2;
    return [x + reach * Math.cos(angle), y + reach * Math.sin(angle)];
  }));
  pen.closePath();
  pen.lineJoin = 'round';
  setStroke(pen, edge, 3);
  pen.stroke();
  pen.fillStyle = color;
  pen.fill();
}

export function square(pen, x, y, r, color, edge) {
  pen.beginPath();
  pen.rect(x - r, y - r, 2 * r, 2 * r);
  setStroke(pen, edge, 2.5);
  pen.stroke();
  pen.fillStyle = color;
  pen.fill();
}

/** Text with a rim in the colour of the background, readable on anything. */
export function rimmedText(pen, text, x, y, color, edge) {
  pen.lineJoin = 'round';
  setStroke(pen, edge, 3.5);
  pen.strokeText(text, x, y);
  pen.fillStyle = color;
  pen.fillText(text, x, y);
}
