// What is proved, on the time line: bars at the counts of plateaus, and bands that contain the merges.

import { provedSentence } from '../panels/proved.js';
import { SANS, faded } from './marks.js';
import { drawKey, placeOf, timeSpan } from './timeaxis.js';

const BAR = 7;
const NARROWEST = 2; // pixels of a band

/** Draw bars and bands behind the staircase, whose counts are at height(count). */
export function drawProved(pen, box, scene, { height, base }, theme) {
  const { plateaus, events } = scene.proved;
  for (const { start, end } of events) {
    const [a, b] = [placeOf(box, scene.moment(start)), placeOf(box, scene.moment(end))];
    const width = Math.max(b - a, NARROWEST);
    pen.fillStyle = theme.strong;
    faded(pen, 0.5, () => pen.fillRect((a + b - width) / 2, box.y + 8, width, base - box.y - 8));
  }
  for (const { start, end, clusters } of plateaus) {
    const [a, b] = [placeOf(box, scene.moment(start)), placeOf(box, scene.moment(end))];
    pen.fillStyle = theme.good;
    faded(pen, 0.55, () => pen.fillRect(a, height(clusters) - BAR / 2, b - a, BAR));
  }
}

/** Say what they are, below the words that are there, `taken`; returns where. */
export function drawProvedKey(pen, box, scene, free, taken, theme) {
  const y = Math.max(box.y + 12, ...taken.map((one) => one.y + 9));
  pen.font = `11px ${SANS}`;
  const sentence = provedSentence(scene.proved);
  const fits = pen.measureText(sentence).width + 40 < timeSpan(box).right - free;
  return drawKey(pen, box, y, fits ? sentence : 'proved', theme.good, [], theme);
}
