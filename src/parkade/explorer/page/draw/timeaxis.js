// What the charts over log time share: the axis, the mark of the moment, and keys of lines.

import { SANS, line, rimmedText, setStroke, setText } from './marks.js';
import { short, tenTo } from '../format.js';

const LEFT = 42;
const RIGHT = 14;

/** Pixels of the time line inside a chart's box; the same for drawing and for the pointer. */
export function timeSpan(box) {
  return { left: box.x + LEFT, right: box.x + box.w - RIGHT };
}

export const placeOf = (box, u) => {
  const { left, right } = timeSpan(box);
  return left + u * (right - left);
};

/** Powers of ten on the axis, as many as there is room for. */
function decadeTicks(scene, width) {
  const low = Math.ceil(Math.log10(scene.first) - 1e-9);
  const high = Math.floor(Math.log10(scene.end) + 1e-9);
  const room = Math.max(2, Math.floor(width / 50));
  const step = [1, 2, 5, 10, 20, 50].find((s) => (high - low) / s <= room) ?? 100;
  const ticks = [];
  for (let k = low; k <= high; k++) if (k % step === 0) ticks.push(k);
  return ticks;
}

/** Ticks of the time axis: powers of ten, or layers. */
function timeTicks(scene, width) {
  if (!scene.linear) return decadeTicks(scene, width).map((k) => ({ t: 10 ** k, text: tenTo(k) }));
  const room = Math.max(2, Math.floor(width / 40));
  const length = scene.end - scene.times[0];
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((s) => length / s <= room) ?? 1000;
  const ticks = [];
  for (let t = Math.ceil(scene.times[0] / step) * step; t <= scene.end; t += step) ticks.push({ t, text: String(t) });
  return ticks;
}

/** The axis with its ticks and their labels. */
export function drawTimeAxis(pen, box, y, scene, theme) {
  const { left, right } = timeSpan(box);
  setStroke(pen, theme.faint, 1);
  pen.beginPath();
  pen.moveTo(left, y);
  pen.lineTo(right, y);
  const ticks = timeTicks(scene, right - left);
  for (const { t } of ticks) {
    const x = placeOf(box, scene.moment(t));
    pen.moveTo(x, y);
    pen.lineTo(x, y + 4);
  }
  pen.stroke();
  pen.fillStyle = theme.soft;
  setText(pen, `11px ${SANS}`, 'center', 'top');
  for (const { t, text } of ticks) {
    const x = placeOf(box, scene.moment(t));
    if (x - left > 24) pen.fillText(text, x, y + 7);
  }
  pen.fillText(short(scene.count > 1 ? scene.times[0] : 0), left, y + 7);
}

/** The moment that is shown, as an upright line. */
export function drawNow(pen, x, top, bottom, theme) {
  setStroke(pen, theme.ink, 1.2);
  line(pen, [x, top], [x, bottom]);
}

/** At the right end of a chart, a piece of a dashed or solid line and what it stands for; returns where that is. */
export function drawKey(pen, box, y, text, color, dash, theme) {
  const right = timeSpan(box).right - 2;
  setText(pen, `11px ${SANS}`, 'right', 'middle');
  rimmedText(pen, text, right, y, theme.soft, theme.panel);
  const end = right - pen.measureText(text).width - 6;
  setStroke(pen, color, 1.7);
  pen.setLineDash(dash);
  line(pen, [end - 24, y], [end, y]);
  pen.setLineDash([]);
  return { x: end - 24, y: y + 6, width: right - end + 24 };
}
