// The staircase of clusters over log time, which is the time line.

import { forecastSentence } from '../panels/forecast.js';
import { drawProved, drawProvedKey } from './provedbars.js';
import { SANS, disc, faded, line, rimmedText, setStroke, setText } from './marks.js';
import { drawKey, drawNow, drawTimeAxis, placeOf, timeSpan } from './timeaxis.js';
import { counted, short } from '../format.js';

const TICK = 5;
const DASH = [5, 3];

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
    pen.fillStyle = theme.strong;
    faded(pen, 0.14, () => pen.fillRect(x, top, right - x, bottom - top));
    if (right - x < 200) continue;
    pen.fillStyle = theme.soft;
    setText(pen, `11px ${SANS}`, 'right', 'top');
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
  const points = steps.flatMap(([u, count], i) => {
    const x = placeOf(box, u);
    return [...(i ? [[x, height(steps[i - 1][1])]] : []), [x, height(count)]];
  });
  pen.lineJoin = 'round';
  line(pen, ...points, [timeSpan(box).right, points[points.length - 1][1]]);
}

/**
 * Draw the staircase, and return where the names of its plateaus are: { x, y, width, start }.
 * `others` are those of other runs: `lines` behind it, { steps: [t, clusters], color, width, alpha, dash }, and
 * drawKeys(pen, box, theme), which says what they are and returns the places of its words.
 */
export function drawStaircase(pen, box, scene, view, theme, others = { lines: [], drawKeys: () => [] }) {
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
    faded(pen, i % 2 ? 0.1 : 0.19, () => pen.fillRect(a, height(clusters), b - a, base - height(clusters)));
  });
  const isProved = view.proved && scene.proved;
  if (isProved) drawProved(pen, box, scene, { height, base }, theme);
  const taken = drawUntrusted(pen, box, top, base, scene, theme); // places of words
  drawCountAxis(pen, left, scene.n, height, theme);
  drawTimeAxis(pen, box, base, scene, theme);
  drawMergeTicks(pen, box, base, scene, scene.arrivals, theme.ink);
  for (const { steps, color, width, alpha, dash } of others.lines) {
    pen.setLineDash(dash ?? []);
    setStroke(pen, color, width);
    faded(pen, alpha, () => strokeStairs(pen, box, steps.map(([t, count]) => [scene.moment(t), count]), height));
    pen.setLineDash([]);
  }
  const forecast = view.forecast && scene.forecast;
  const steps = scene.merges ? stairs(scene, scene.arrivals) : scene.moments.map((u, f) => [u, scene.clusters[f]]);
  pen.strokeStyle = theme.accent;
  pen.lineWidth = forecast ? 3.2 : 1.8; // a dashed line on top must not hide it
  strokeStairs(pen, box, steps, height);
  taken.push(...others.drawKeys(pen, box, theme));
  // Where the staircase leaves room for sentences.
  const [room] = steps.find(([, count]) => height(count) > top + 16) ?? [1];
  const free = placeOf(box, room);
  if (forecast) {
    drawMergeTicks(pen, box, base - TICK, scene, scene.forecastArrivals, theme.forecast);
    setStroke(pen, theme.forecast, 1.7);
    pen.setLineDash(DASH);
    strokeStairs(pen, box, stairs(scene, scene.forecastArrivals), height);
    pen.setLineDash([]);
    pen.font = `11px ${SANS}`;
    const sentence = forecastSentence(scene.forecast);
    const fits = pen.measureText(sentence).width + 40 < right - free;
    taken.push(drawKey(pen, box, top + 4, fits ? sentence : 'forecast', theme.forecast, DASH, theme));
  }
  if (isProved) taken.push(drawProvedKey(pen, box, scene, free, taken, theme));
  const names = nameStairs(pen, box, plateaus, scene, height, theme, taken);
  const x = placeOf(box, view.u);
  drawNow(pen, x, top - 4, base, theme);
  disc(pen, x, base, 7.5, theme.paper);
  disc(pen, x, base, 6, theme.ink);
  return names;
}

function drawCountAxis(pen, left, n, height, theme) {
  pen.fillStyle = theme.soft;
  setText(pen, `11px ${SANS}`, 'right', 'middle');
  let last = Infinity;
  for (const count of [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000]) {
    if (count > n || last - height(count) < 15) continue;
    last = height(count);
    pen.fillText(String(count), left - 8, last);
  }
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
  setText(pen, `12px ${SANS}`, 'left', 'bottom');
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
    pen.fillStyle = theme.panel;
    faded(pen, 0.85, () => pen.fillRect(x - 2, y - 13, width + 4, 13));
    rimmedText(pen, text, x, y, theme.ink, theme.panel);
  }
  return names;
}
