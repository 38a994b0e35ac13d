// The chart over log time of the tokens that centres have consumed.

import { SANS, disc, line, setStroke, setText } from './marks.js';
import { drawNow, drawTimeAxis, placeOf, timeSpan } from './timeaxis.js';
import { percent } from '../format.js';

export function drawConsumption(pen, box, scene, view, theme) {
  const base = box.y + box.h - 22;
  const top = box.y + 10;
  const height = (share) => base - (base - top) * share;
  const { left, right } = timeSpan(box);
  pen.lineWidth = 0.7;
  setText(pen, `11px ${SANS}`, 'right', 'middle');
  for (const share of [0.5, 1]) {
    pen.strokeStyle = theme.line;
    line(pen, [left, height(share)], [right, height(share)]);
    pen.fillStyle = theme.soft;
    pen.fillText(percent(share), left - 4, height(share));
  }
  drawTimeAxis(pen, box, base, scene, theme);
  const curve = (values, color) => {
    setStroke(pen, color, 1.8);
    line(pen, ...values.map((share, f) => [placeOf(box, scene.moments[f]), height(share)]));
  };
  const { renyi, strong } = scene.consumption;
  curve(renyi, theme.ink);
  curve(strong, theme.strong);
  const x = placeOf(box, view.u);
  drawNow(pen, x, top - 2, base, theme);
  const { frame } = scene.frameAt(view.u);
  disc(pen, x, height(renyi[frame]), 3, theme.ink);
  disc(pen, x, height(strong[frame]), 3, theme.strong);
}
