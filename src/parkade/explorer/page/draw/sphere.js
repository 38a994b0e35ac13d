// The sphere: its shade, meridians, caps and trails, at the back and in front.

import { SANS, SERIF, disc, line, rimmedText, ring, setStroke, setText } from './marks.js';
import { percent } from '../format.js';

const FULL = 2 * Math.PI;

export function drawGround(pen, stage, scene, theme) {
  const { x, y, radius } = stage;
  const shade = pen.createRadialGradient(x - 0.35 * radius, y - 0.4 * radius, 0, x, y, radius);
  shade.addColorStop(0, theme.ball);
  shade.addColorStop(1, theme.rim);
  disc(pen, x, y, radius, shade);
  ring(pen, x, y, radius, theme.line, 1);
}

/** Lines through `points` (flat, three numbers each), only those in front or at the back. */
function trace(pen, stage, points, front) {
  const at = [0, 0, 0];
  let open = false;
  let lastX = 0;
  let lastY = 0;
  for (let i = 0; i < points.length; i += 3) {
    stage.put(points, i, at, 0);
    const inside = (at[2] >= 0) === front;
    if (inside) {
      if (open) pen.lineTo(at[0], at[1]);
      else if (i) { pen.moveTo(lastX, lastY); pen.lineTo(at[0], at[1]); }
      else pen.moveTo(at[0], at[1]);
    }
    open = inside;
    lastX = at[0];
    lastY = at[1];
  }
}

/** The circle of points at an angle from a unit vector. */
export function capRim(center, angle, steps = 96) {
  const [a, b, c] = center;
  const helper = Math.abs(a) < 0.6 ? [1, 0, 0] : [0, 1, 0];
  const e = cross(center, helper);
  const size = Math.hypot(...e);
  const u = e.map((v) => v / size);
  const w = cross([a, b, c], u);
  const points = [];
  for (let i = 0; i <= steps; i++) {
    const turn = (FULL * i) / steps;
    const [p, q, r] = [Math.cos(angle), Math.sin(angle) * Math.cos(turn), Math.sin(angle) * Math.sin(turn)];
    for (let j = 0; j < 3; j++) points.push(p * center[j] + q * u[j] + r * w[j]);
  }
  return points;
}

const cross = (a, b) => [
  a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0],
];

const GRATICULE = [
  ...[-60, -30, 0, 30, 60].map((latitude) => capRim([0, 0, 1], ((90 - latitude) * Math.PI) / 180)),
  ...[0, 30, 60, 90, 120, 150].map((longitude) => {
    const angle = (longitude * Math.PI) / 180;
    return capRim([-Math.sin(angle), Math.cos(angle), 0], Math.PI / 2);
  }),
];

export function drawGraticule(pen, stage, theme, front) {
  pen.strokeStyle = theme.line;
  pen.globalAlpha = front ? 0.55 : 0.22;
  pen.lineWidth = 0.7;
  pen.beginPath();
  for (const circle of GRATICULE) trace(pen, stage, circle, front);
  pen.stroke();
  pen.globalAlpha = 1;
}

/** The leading eigenspace L of V: a plane (a great circle) or a line (the two points ±ξ). */
export function drawLeading(pen, stage, scene, theme, front) {
  const basis = scene.d === 3 ? scene.leading() : null;
  if (!basis) return;
  pen.strokeStyle = theme.accent;
  pen.globalAlpha = front ? 0.75 : 0.25;
  pen.lineWidth = 1.6;
  const name = (text, point, dx) => {
    const at = [0, 0, 0];
    stage.put(point, 0, at, 0);
    if ((at[2] >= 0) !== front) return;
    setText(pen, `italic 16px ${SERIF}`, 'left', 'bottom');
    rimmedText(pen, text, at[0] + dx, at[1] - dx / 2, theme.accent, theme.ball);
  };
  if (basis.length === 2) {
    pen.beginPath();
    const rim = capRim(cross(basis[0], basis[1]), Math.PI / 2);
    trace(pen, stage, rim, front);
    pen.stroke();
    // The name is where the circle is closest to the viewer.
    const depth = (i) => stage.matrix[6] * rim[i] + stage.matrix[7] * rim[i + 1] + stage.matrix[8] * rim[i + 2];
    let near = 0;
    for (let i = 0; i < rim.length; i += 3) if (depth(i) > depth(near)) near = i;
    name('L', rim.slice(near, near + 3), 4);
  } else {
    for (const [sign, text] of [[1, 'ξ'], [-1, '−ξ']]) {
      const pole = basis[0].map((c) => sign * c);
      pen.beginPath();
      trace(pen, stage, capRim(pole, 0.09, 24), front);
      pen.stroke();
      name(text, pole, 12);
    }
  }
  pen.globalAlpha = 1;
}

export function drawCaps(pen, stage, scene, view, theme, front) {
  const { delta } = scene.centers;
  if (scene.d !== 3 || delta >= Math.PI) return;
  const rims = (set, color, dash, width) => {
    setStroke(pen, color, width);
    pen.setLineDash(dash);
    pen.globalAlpha = front ? 0.42 : 0.12;
    pen.beginPath();
    for (const k of set) trace(pen, stage, capRim(scene.frames.subarray(3 * k, 3 * k + 3), delta), front);
    pen.stroke();
    pen.setLineDash([]);
    pen.globalAlpha = 1;
  };
  if (view.renyi) rims([...scene.renyi].filter((k) => !view.strong || !scene.strong.has(k)), theme.ink, [4, 4], 1);
  if (view.strong) rims(scene.strong, theme.strong, [], 1.2);
}

/** The path of each token from its start to now; `trails` are the pieces of look.js by colour. */
export function drawTrails(pen, stage, scene, trails, tokens, front, chosen = false) {
  pen.globalAlpha = chosen ? (front ? 1 : 0.45) : (front ? 0.45 : 0.15) * (scene.n > 400 ? 0.5 : 1);
  pen.lineWidth = chosen ? 2 : 1.2;
  pen.lineJoin = 'round';
  pen.lineCap = 'round';
  for (const [color, pieces] of trails) {
    pen.strokeStyle = color;
    pen.beginPath();
    for (const { token, frames, open } of pieces) {
      const points = [];
      for (const f of frames) {
        const o = (f * scene.n + token) * 3;
        points.push(scene.drawn[o], scene.drawn[o + 1], scene.drawn[o + 2]);
      }
      if (open) points.push(tokens[3 * token], tokens[3 * token + 1], tokens[3 * token + 2]);
      trace(pen, stage, points, front);
    }
    pen.stroke();
  }
  pen.globalAlpha = 1;
}

/** The principal axes, each with its share of the variance. */
export function drawAxes(pen, stage, scene, theme) {
  if (!scene.axes) return;
  const at = [0, 0, 0];
  pen.font = `12px ${SANS}`;
  pen.textBaseline = 'middle';
  scene.axes.variance.forEach((share, axis) => {
    const end = [0, 0, 0];
    end[axis] = 1.04;
    stage.put(end, 0, at, 0);
    pen.globalAlpha = at[2] < -0.2 ? 0.45 : 1;
    setStroke(pen, theme.faint, 1);
    line(pen, [stage.x, stage.y], at);
    pen.textAlign = at[0] < stage.x ? 'right' : 'left';
    pen.fillStyle = theme.soft;
    const away = at[0] < stage.x ? -6 : 6;
    pen.fillText(`axis ${axis + 1}: ${percent(share)}`, at[0] + away, at[1] + (at[1] < stage.y ? -8 : 8));
    pen.globalAlpha = 1;
  });
}
