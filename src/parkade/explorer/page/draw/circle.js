// The circle: tokens on its rim, their past inside it, the caps of the centres as arcs outside.
//
// Paths along a circle would cover each other. So the past is drawn inwards: the longer ago, on
// the scale of log time, the deeper inside the circle.

import { SANS, disc, faded, line, ring, setText } from './marks.js';
import { tenTo } from '../format.js';

const FULL = 2 * Math.PI;
const DEPTH = 0.82; // how far inside the start lies, in radii
const SHORTEST = 0.3; // a past that is shorter than this does not fill the circle
const LANE = 0.035;

export function drawRim(pen, stage, scene, theme) {
  const { x, y, radius } = stage;
  disc(pen, x, y, radius, theme.ball);
  ring(pen, x, y, radius, theme.faint, 1.2);
}

/** The radius at which a moment of the past is drawn. */
const depthOf = (stage, u, moment) => stage.radius * (1 - (DEPTH * (u - moment)) / Math.max(u, SHORTEST));

/** Rings inside the circle at powers of ten of the past. */
export function drawDecades(pen, stage, scene, u, theme) {
  if (scene.linear) return;
  const last = Math.floor(Math.log10(scene.time(u)));
  const step = Math.max(1, Math.ceil(scene.decades / 5));
  setText(pen, `10px ${SANS}`, 'center', 'middle');
  for (let k = Math.ceil(Math.log10(scene.first)); k <= last; k++) {
    const radius = depthOf(stage, u, scene.moment(10 ** k));
    if (k % step || radius < 0.3 * stage.radius) continue;
    faded(pen, 0.7, () => ring(pen, stage.x, stage.y, radius, theme.line, 0.7));
    if (stage.radius - radius < 14) continue;
    const label = tenTo(k);
    pen.fillStyle = theme.ball;
    const width = pen.measureText(label).width;
    pen.fillRect(stage.x - width / 2 - 2, stage.y + radius - 6, width + 4, 12);
    pen.fillStyle = theme.soft;
    pen.fillText(label, stage.x, stage.y + radius);
  }
}

/** The paths of tokens; `trails` are the pieces of look.js by colour. */
export function drawPast(pen, stage, scene, trails, u, tokens, chosen = false) {
  pen.globalAlpha = chosen ? 1 : scene.n > 400 ? 0.3 : 0.6;
  pen.lineWidth = chosen ? 2.2 : 1;
  pen.lineJoin = 'round';
  const offset = Math.atan2(stage.matrix[3], stage.matrix[0]);
  for (const [color, pieces] of trails) {
    pen.strokeStyle = color;
    pen.beginPath();
    for (const { token, frames, open } of pieces) {
      const line = new Spiral(pen, stage);
      for (const f of frames) {
        const o = (f * scene.n + token) * 2;
        line.to(Math.atan2(scene.drawn[o + 1], scene.drawn[o]) + offset, depthOf(stage, u, scene.moments[f]));
      }
      if (open) line.to(Math.atan2(tokens[2 * token + 1], tokens[2 * token]) + offset, stage.radius);
    }
    pen.stroke();
  }
  pen.globalAlpha = 1;
}

/** A line whose angle (the short way round) and radius change evenly from point to point. */
class Spiral {
  constructor(pen, stage) {
    Object.assign(this, { pen, stage, angle: null, radius: 0 });
  }

  put(angle, radius, first) {
    const [x, y] = [this.stage.x + radius * Math.cos(angle), this.stage.y - radius * Math.sin(angle)];
    if (first) this.pen.moveTo(x, y);
    else this.pen.lineTo(x, y);
  }

  to(angle, radius) {
    if (this.angle === null) this.put(angle, radius, true);
    else {
      const way = angle - this.angle;
      const turned = way - FULL * Math.round(way / FULL);
      const pieces = Math.max(1, Math.ceil(Math.abs(turned) / 0.05));
      for (let i = 1; i <= pieces; i++) {
        this.put(this.angle + (turned * i) / pieces, this.radius + ((radius - this.radius) * i) / pieces, false);
      }
    }
    this.angle = angle;
    this.radius = radius;
  }
}

/** Arcs of angle δ to both sides of the start of a centre, in lanes so that none overlap. */
export function drawArcs(pen, stage, scene, view, theme) {
  const { delta } = scene.centers;
  const offset = Math.atan2(stage.matrix[3], stage.matrix[0]);
  const chosen = [...scene.renyi].filter((k) => (view.strong && scene.strong.has(k)) || view.renyi);
  const arcs = chosen
    .map((k) => ({ k, middle: Math.atan2(scene.frames[2 * k + 1], scene.frames[2 * k]) }))
    .sort((a, b) => a.middle - b.middle);
  const lanes = [];
  for (const arc of arcs) {
    const free = (lane) => lane.every(({ middle }) => {
      const apart = Math.abs(middle - arc.middle);
      return Math.min(apart, FULL - apart) > 2 * delta + 0.01;
    });
    let lane = lanes.findIndex(free);
    if (lane < 0) lane = lanes.push([]) - 1;
    lanes[lane].push(arc);
    const red = view.strong && scene.strong.has(arc.k);
    const radius = stage.radius * (1.055 + LANE * lane);
    const [from, to] = [-(arc.middle + offset) - delta, -(arc.middle + offset) + delta];
    pen.strokeStyle = red ? theme.strong : theme.ink;
    pen.globalAlpha = red ? 0.9 : 0.55;
    pen.lineWidth = red ? 2 : 1.3;
    pen.lineCap = 'butt';
    pen.setLineDash(red ? [] : [5, 3]);
    pen.beginPath();
    pen.arc(stage.x, stage.y, radius, from, Math.min(to, from + FULL));
    pen.stroke();
    pen.setLineDash([]);
    // A tick at the start of the centre.
    const angle = arc.middle + offset;
    line(pen, ...[radius - 3.5, radius + 3.5].map((reach) => [stage.x + reach * Math.cos(angle), stage.y - reach * Math.sin(angle)]));
    pen.globalAlpha = 1;
  }
  return lanes.length ? 0.055 + LANE * lanes.length : 0.03;
}
