// The charts over log time: the staircase of clusters, which is the time line, and consumption.

import { forecastSentence } from '../panels/forecast.js';
import { SANS, disc, rimmedText } from './look.js';
import { counted, percent, short, tenTo } from '../format.js';

const LEFT = 42;
const RIGHT = 14;
const TICK = 5;
const DASH = [5, 3];

/** Pixels of the time line inside a chart's box; the same for drawing and for the pointer. */
export function timeSpan(box) {
  return { left: box.x + LEFT, right: box.x + box.w - RIGHT };
}

const placeOf = (box, u) => {
  const { left, right } = timeSpan(box);
  return left + u * (right - left);
};

export function decadeTicks(scene, width) {
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

function drawTimeAxis(pen, box, y, scene, theme, labels = true) {
  const { left, right } = timeSpan(box);
  pen.strokeStyle = theme.faint;
  pen.lineWidth = 1;
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
  if (!labels) return;
  pen.font = `11px ${SANS}`;
  pen.fillStyle = theme.soft;
  pen.textBaseline = 'top';
  pen.textAlign = 'center';
  for (const { t, text } of ticks) {
    const x = placeOf(box, scene.moment(t));
    if (x - left > 24) pen.fillText(text, x, y + 7);
  }
  pen.fillText(short(scene.count > 1 ? scene.times[0] : 0), left, y + 7);
}

function drawNow(pen, x, top, bottom, theme) {
  pen.strokeStyle = theme.ink;
  pen.lineWidth = 1.2;
  pen.beginPath();
  pen.moveTo(x, top);
  pen.lineTo(x, bottom);
  pen.stroke();
}

/** Shade the part of the time line that is not trusted, and say why; returns the places of these words. */
function drawUntrusted(pen, box, top, bottom, scene, theme) {
  const limits = [
    [scene.trusted_until, 'not trusted: rounding decides'],
    [scene.phase_known_until, 'the place on the orbit is unknown'],
  ];
  const { right } = timeSpan(box);
  const taken = [];
  for (const [t, why] of limits) {
    if ((t ?? Infinity) >= scene.end) continue;
    const x = placeOf(box, scene.moment(t));
    pen.globalAlpha = 0.14;
    pen.fillStyle = theme.strong;
    pen.fillRect(x, top, right - x, bottom - top);
    pen.globalAlpha = 1;
    if (right - x < 200) continue;
    pen.font = `11px ${SANS}`;
    pen.textAlign = 'right';
    pen.textBaseline = 'top';
    pen.fillStyle = theme.soft;
    const y = top + 3 + 14 * taken.length;
    pen.fillText(why, right - 4, y);
    const { width } = pen.measureText(why);
    taken.push({ x: right - 4 - width, y: y + 12, width });
  }
  return taken;
}

/** Steps [u, clusters] of the staircase whose merges are at these times. */
function stairs(scene, arrivals) {
  const steps = [[0, scene.n]];
  for (const t of arrivals) steps.push([scene.moment(t), steps[steps.length - 1][1] - 1]);
  return steps;
}

function strokeStairs(pen, box, steps, height) {
  pen.lineJoin = 'round';
  pen.beginPath();
  steps.forEach(([u, count], i) => {
    const x = placeOf(box, u);
    if (i) pen.lineTo(x, height(steps[i - 1][1]));
    else pen.moveTo(x, height(count));
    pen.lineTo(x, height(count));
  });
  pen.lineTo(timeSpan(box).right, height(steps[steps.length - 1][1]));
  pen.stroke();
}

/**
 * Draw the staircase, and return where the names of its plateaus are: { x, y, width, start }.
 * `others` are those of other runs: `lines` behind it, { steps: [t, clusters], color, width, alpha, dash }, and
 * drawKey(pen, box, theme), which says what they are and returns the places of its words.
 */
export function drawStaircase(pen, box, scene, view, theme, others = { lines: [], drawKey: () => [] }) {
  const { left, right } = timeSpan(box);
  const base = box.y + box.h - 26;
  const top = box.y + 8;
  const plateaus = scene.plateaus ?? [];
  // Both scales are logarithmic, so that the last few clusters have room too.
  const low = Math.log(0.72);
  const rate = (base - top - 12) / (Math.log(Math.max(2, scene.n)) - low);
  const height = (count) => base - rate * (Math.log(count) - low);
  plateaus.forEach(({ start, end, clusters }, i) => {
    const [a, b] = [placeOf(box, scene.moment(start)), placeOf(box, scene.moment(end))];
    pen.fillStyle = theme.accent;
    pen.globalAlpha = i % 2 ? 0.1 : 0.19;
    pen.fillRect(a, height(clusters), b - a, base - height(clusters));
    pen.globalAlpha = 1;
  });
  const taken = drawUntrusted(pen, box, top, base, scene, theme); // places of words
  drawCountAxis(pen, left, scene.n, height, theme);
  drawTimeAxis(pen, box, base, scene, theme);
  drawMergeTicks(pen, box, base, scene, scene.arrivals, theme.ink);
  for (const { steps, color, width, alpha, dash } of others.lines) {
    pen.setLineDash(dash ?? []);
    pen.strokeStyle = color;
    pen.lineWidth = width;
    pen.globalAlpha = alpha;
    strokeStairs(pen, box, steps.map(([t, count]) => [scene.moment(t), count]), height);
    pen.globalAlpha = 1;
    pen.setLineDash([]);
  }
  const forecast = view.forecast && scene.forecast;
  const steps = scene.merges ? stairs(scene, scene.arrivals) : scene.moments.map((u, f) => [u, scene.clusters[f]]);
  pen.strokeStyle = theme.accent;
  pen.lineWidth = forecast ? 3.2 : 1.8; // a dashed line on top must not hide it
  strokeStairs(pen, box, steps, height);
  taken.push(...others.drawKey(pen, box, theme));
  if (forecast) {
    drawMergeTicks(pen, box, base - TICK, scene, scene.forecastArrivals, theme.forecast);
    pen.strokeStyle = theme.forecast;
    pen.lineWidth = 1.7;
    pen.setLineDash(DASH);
    strokeStairs(pen, box, stairs(scene, scene.forecastArrivals), height);
    pen.setLineDash([]);
    const [free] = steps.find(([, count]) => height(count) > top + 16) ?? [1];
    taken.push(drawForecastKey(pen, box, top, placeOf(box, free), scene, theme));
  }
  const names = nameStairs(pen, box, plateaus, scene, height, theme, taken);
  const x = placeOf(box, view.u);
  drawNow(pen, x, top - 4, base, theme);
  disc(pen, x, base, 7.5, theme.paper);
  disc(pen, x, base, 6, theme.ink);
  return names;
}

function drawCountAxis(pen, left, n, height, theme) {
  pen.font = `11px ${SANS}`;
  pen.fillStyle = theme.soft;
  pen.textAlign = 'right';
  pen.textBaseline = 'middle';
  let last = Infinity;
  for (const count of [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000]) {
    if (count > n || last - height(count) < 15) continue;
    last = height(count);
    pen.fillText(String(count), left - 8, last);
  }
}

/** What the dashed line is, in a sentence if the staircase leaves room from `free` on; returns where that is. */
function drawForecastKey(pen, box, top, free, scene, theme) {
  const { right } = timeSpan(box);
  pen.font = `11px ${SANS}`;
  const sentence = forecastSentence(scene.forecast);
  const text = pen.measureText(sentence).width + 40 < right - free ? sentence : 'forecast';
  pen.textAlign = 'right';
  pen.textBaseline = 'middle';
  rimmedText(pen, text, right - 2, top + 4, theme.soft, theme.panel);
  const x = right - 8 - pen.measureText(text).width;
  pen.strokeStyle = theme.forecast;
  pen.lineWidth = 1.7;
  pen.setLineDash(DASH);
  pen.beginPath();
  pen.moveTo(x - 24, top + 4);
  pen.lineTo(x, top + 4);
  pen.stroke();
  pen.setLineDash([]);
  return { x: x - 24, y: top + 10, width: right - x + 24 };
}

function drawMergeTicks(pen, box, base, scene, times, color) {
  pen.strokeStyle = color;
  pen.globalAlpha = 0.55;
  pen.lineWidth = 1;
  pen.beginPath();
  let last = -9;
  for (const t of times) {
    const x = placeOf(box, scene.moment(t));
    if (x - last < 0.7) continue;
    last = x;
    pen.moveTo(x, base - TICK);
    pen.lineTo(x, base);
  }
  pen.stroke();
  pen.globalAlpha = 1;
}

/** Names of plateaus beside the words that are there, `taken`; where there is no room for all, those that are longest on the log scale. */
function nameStairs(pen, box, plateaus, scene, height, theme, taken) {
  const { right } = timeSpan(box);
  pen.font = `12px ${SANS}`;
  pen.textAlign = 'left';
  pen.textBaseline = 'bottom';
  const spots = plateaus.map((p) => ({
    ...p, x: placeOf(box, scene.moment(p.start)), end: placeOf(box, scene.moment(p.end)),
  }));
  spots.sort((a, b) => b.end - b.x - (a.end - a.x));
  const names = [];
  for (const spot of spots) {
    const last = spot === spots.find((s) => s.end >= right - 1);
    const text = `${counted(spot.clusters, 'cluster')}${last ? '' : ` for ${short(spot.lifetime, 2)}`}`;
    const width = pen.measureText(text).width;
    const x = Math.min(spot.x + 5, right - width);
    const y = height(spot.clusters) - 3;
    if (taken.some((r) => x < r.x + r.width + 4 && r.x < x + width + 4 && Math.abs(y - r.y) < 14)) continue;
    names.push({ x, y, width, start: spot.start });
    taken.push(names[names.length - 1]);
    // Lines of other runs would strike it through.
    pen.globalAlpha = 0.85;
    pen.fillStyle = theme.panel;
    pen.fillRect(x - 2, y - 13, width + 4, 13);
    pen.globalAlpha = 1;
    rimmedText(pen, text, x, y, theme.ink, theme.panel);
  }
  return names;
}

export function drawConsumption(pen, box, scene, view, theme) {
  const base = box.y + box.h - 22;
  const top = box.y + 10;
  const height = (share) => base - (base - top) * share;
  const { left, right } = timeSpan(box);
  pen.font = `11px ${SANS}`;
  pen.textAlign = 'right';
  pen.textBaseline = 'middle';
  pen.lineWidth = 0.7;
  for (const share of [0.5, 1]) {
    pen.strokeStyle = theme.line;
    pen.beginPath();
    pen.moveTo(left, height(share));
    pen.lineTo(right, height(share));
    pen.stroke();
    pen.fillStyle = theme.soft;
    pen.fillText(percent(share), left - 4, height(share));
  }
  drawTimeAxis(pen, box, base, scene, theme);
  const curve = (values, color, dash) => {
    pen.strokeStyle = color;
    pen.lineWidth = 1.8;
    pen.setLineDash(dash);
    pen.beginPath();
    values.forEach((share, f) => {
      const [x, y] = [placeOf(box, scene.moments[f]), height(share)];
      if (f) pen.lineTo(x, y);
      else pen.moveTo(x, y);
    });
    pen.stroke();
    pen.setLineDash([]);
  };
  const { renyi, strong } = scene.consumption;
  curve(renyi, theme.ink, []);
  curve(strong, theme.strong, []);
  const x = placeOf(box, view.u);
  drawNow(pen, x, top - 2, base, theme);
  const { frame } = scene.frameAt(view.u);
  disc(pen, x, height(renyi[frame]), 3, theme.ink);
  disc(pen, x, height(strong[frame]), 3, theme.strong);
}
