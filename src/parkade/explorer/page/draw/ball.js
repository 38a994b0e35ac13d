// The main picture: ground, caps, trails, tokens, centres and names, for any dimension.

import { Stage, clusterSizes, trailPieces } from './look.js';
import { SANS, SERIF, disc, faded, ring, star, square, rimmedText, setStroke, setText } from './marks.js';
import { drawGround, drawGraticule, drawLeading, drawCaps, drawTrails, drawAxes } from './sphere.js';
import { drawNotes } from './notes.js';
import { drawRim, drawDecades, drawPast, drawArcs } from './circle.js';

const NAMED = 14; // with more clusters than this, names would cover the picture

/** Draw into `box` and return where each token is on the screen, n × 3: x, y, depth. */
export function drawBall(pen, box, show, view) {
  const { scene, colors: palette } = show;
  const { theme } = palette;
  const stage = new Stage(box, scene, view);
  const tokens = scene.drawnAt(view.u);
  const labels = scene.labelsAt(view.u);
  const colors = palette.all(view.color, scene.frameAt(view.u).frame);
  const places = stage.putAll(tokens, scene.n);
  const trails = view.trails ? trailPieces(show, view) : null;
  let margin = 0.03;
  if (scene.d === 2) {
    drawRim(pen, stage, scene, theme);
    if (view.trails) {
      drawDecades(pen, stage, scene, view.u, theme);
      drawPast(pen, stage, scene, trails, view.u, tokens);
    }
    if (view.caps && scene.hasCaps) margin = drawArcs(pen, stage, scene, view, theme);
    drawHalos(pen, places, labels, colors, palette, () => true);
    drawTokens(pen, places, colors, scene, view, theme, true);
  } else {
    drawGround(pen, stage, scene, theme);
    for (const front of [false, true]) {
      if (!scene.axes) drawGraticule(pen, stage, theme, front);
      if (front) drawAxes(pen, stage, scene, theme);
      drawLeading(pen, stage, scene, theme, front);
      if (view.caps && scene.hasCaps) drawCaps(pen, stage, scene, view, theme, front);
      if (view.trails) drawTrails(pen, stage, scene, trails, tokens, front);
      drawHalos(pen, places, labels, colors, palette, (k) => places[3 * k + 2] >= 0 === front);
      drawTokens(pen, places, colors, scene, view, theme, front);
    }
  }
  const token = view.hover ?? view.token;
  if (token !== null && token < scene.n) {
    const own = trailPieces(show, view, token);
    if (scene.d === 2) drawPast(pen, stage, scene, own, view.u, tokens, true);
    else for (const front of [false, true]) drawTrails(pen, stage, scene, own, tokens, front, true);
    drawStart(pen, stage, scene, token, theme);
  }
  drawPoints(pen, stage, scene, theme);
  drawCenters(pen, places, scene, view, theme);
  const notes = view.notes ? drawNotes(pen, box, show, view, places) : [];
  if (view.names) drawNames(pen, stage, places, labels, colors, { margin, notes }, show);
  if (token !== null && token < scene.n) drawChosen(pen, stage, places, token, theme, view.names && labels[token] === token ? null : scene.name(token));
  return places;
}

const CROWD = 300; // more tokens than this are painted colour by colour, not one by one

function drawTokens(pen, places, colors, scene, view, theme, front) {
  const { n } = scene;
  const base = n > 500 ? 2.6 : n > 100 ? 3.5 : 4.4;
  const shown = [];
  for (let k = 0; k < n; k++) if (places[3 * k + 2] >= 0 === front) shown.push(k);
  pen.globalAlpha = front ? 1 : 0.38;
  if (n > CROWD) {
    paintDiscs(pen, places, shown, base + 0.8, theme.ball);
    const groups = new Map();
    for (const k of shown) {
      if (!groups.has(colors[k])) groups.set(colors[k], []);
      groups.get(colors[k]).push(k);
    }
    for (const [color, members] of groups) paintDiscs(pen, places, members, base, color);
  } else {
    // The farthest first; later tokens under earlier ones, since earlier ones lead.
    shown.sort((a, b) => places[3 * a + 2] - places[3 * b + 2] || b - a);
    for (const k of shown) {
      const r = base * (0.82 + 0.22 * Math.max(-0.6, places[3 * k + 2]));
      disc(pen, places[3 * k], places[3 * k + 1], r + 0.9, theme.ball);
      disc(pen, places[3 * k], places[3 * k + 1], r, colors[k]);
    }
  }
  pen.globalAlpha = 1;
}

function paintDiscs(pen, places, members, r, color) {
  pen.fillStyle = color;
  pen.beginPath();
  for (const k of members) {
    pen.moveTo(places[3 * k] + r, places[3 * k + 1]);
    pen.arc(places[3 * k], places[3 * k + 1], r, 0, 2 * Math.PI);
  }
  pen.fill();
}

const haloRadius = (size) => Math.min(30, 5 + 2.1 * Math.sqrt(size));

/** A pale disc under each cluster, larger for more tokens. */
function drawHalos(pen, places, labels, colors, palette, wanted) {
  for (const [leader, size] of clusterSizes(labels)) {
    if (size < 2 || !palette.leaders[leader] || !wanted(leader)) continue;
    faded(pen, 0.17, () => disc(pen, places[3 * leader], places[3 * leader + 1], haloRadius(size), colors[leader]));
  }
}

/** Frozen points that are no tokens. */
function drawPoints(pen, stage, scene, theme) {
  const at = [0, 0, 0];
  for (const { place } of scene.points) {
    stage.put(scene.drawnPoint(place), 0, at, 0);
    faded(pen, at[2] < 0 ? 0.4 : 1, () => square(pen, at[0], at[1], 4, theme.accent, theme.ball));
  }
}

function drawCenters(pen, places, scene, view, theme) {
  const at = (k) => [places[3 * k], places[3 * k + 1]];
  const mark = (k, draw) => faded(pen, places[3 * k + 2] < 0 ? 0.4 : 1, draw);
  for (const k of scene.frozenSet) mark(k, () => square(pen, ...at(k), 4, theme.accent, theme.ball));
  for (const k of scene.renyi) {
    const red = view.strong && scene.strong.has(k);
    if (!red && !view.renyi) continue;
    mark(k, () => ring(pen, ...at(k), 7.5, red ? theme.strong : theme.ink, red ? 2.2 : 1.2));
  }
  mark(0, () => star(pen, ...at(0), 8.5, theme.ink, theme.ball));
}

/** Where a token started, as a small cross. */
function drawStart(pen, stage, scene, token, theme) {
  const at = [0, 0, 0];
  stage.put(scene.drawn, token * scene.space, at, 0);
  setStroke(pen, theme.ink, 1.4);
  pen.globalAlpha = at[2] < 0 ? 0.4 : 0.9;
  pen.beginPath();
  pen.moveTo(at[0] - 4, at[1] - 4);
  pen.lineTo(at[0] + 4, at[1] + 4);
  pen.moveTo(at[0] - 4, at[1] + 4);
  pen.lineTo(at[0] + 4, at[1] - 4);
  pen.stroke();
  pen.globalAlpha = 1;
}

function outward(stage, x, y, gap) {
  const length = Math.hypot(x - stage.x, y - stage.y) || 1;
  return [(x - stage.x) / length, (y - stage.y) / length].map((c, i) => (i ? y : x) + c * gap);
}

/** The clusters that have names: all, the largest first; if these are too many, those of several tokens, or none. */
function named(sizes) {
  const all = [...sizes].sort((a, b) => b[1] - a[1]);
  const some = all.length > NAMED ? all.filter(([, size]) => size > 1) : all;
  return some.length > NAMED ? [] : some;
}

/** Whether a name at this spot would cover tokens of other clusters. */
function covers([x, y], px, places, labels, leader) {
  const [left, right] = x > px + 5 ? [x - 4, x + 52] : x < px - 5 ? [x - 52, x + 4] : [x - 28, x + 28];
  return labels.some((label, k) => label !== leader
    && places[3 * k] > left && places[3 * k] < right && Math.abs(places[3 * k + 1] - y) < 11);
}

/** Names of clusters, outside the `margin` of the circle and below or beside the `notes` in the corner. */
function drawNames(pen, stage, places, labels, colors, { margin, notes }, { scene, colors: palette }) {
  const { theme } = palette;
  const sizes = named(clusterSizes(labels));
  const taken = [];
  const circle = stage.space === 2;
  pen.textBaseline = 'middle';
  for (const [leader, size] of sizes) {
    const front = places[3 * leader + 2] >= 0;
    const [px, py] = [places[3 * leader], places[3 * leader + 1]];
    const gap = circle ? margin * stage.radius + 14 : 14 + haloRadius(size);
    // Where another name is, or tokens of others are, farther out. No name covers another, and that of one token alone no token.
    const spots = [0, 16, 32].map((more) => outward(stage, px, py, gap + more));
    const apart = ([x, y]) => !taken.some(([a, b]) => Math.abs(a - x) < 46 && Math.abs(b - y) < 15);
    const spot = spots.find((at) => apart(at) && !covers(at, px, places, labels, leader))
      ?? (size > 1 ? spots.find(apart) : null);
    if (!spot) continue;
    const [x, y] = spot;
    taken.push(spot);
    const lean = (x - px) / gap;
    pen.textAlign = lean > 0.35 ? 'left' : lean < -0.35 ? 'right' : 'center';
    pen.globalAlpha = front ? 1 : 0.6;
    pen.font = `italic 15px ${SERIF}`;
    const name = scene.name(leader);
    const width = pen.measureText(name).width;
    const count = size > 1 ? ` ×${size}` : '';
    pen.font = `11px ${SANS}`;
    const more = pen.measureText(count).width;
    const wanted = pen.textAlign === 'left' ? x : pen.textAlign === 'right' ? x - width - more : x - (width + more) / 2;
    // On a narrow screen a name moves inwards instead of being cut, and away from its token.
    const { x: edge, w } = stage.box;
    const seen = px > edge && px < edge + w;
    const left = seen ? Math.min(Math.max(wanted, edge + 2), edge + w - width - more - 2) : wanted;
    const moved = Math.abs(left - wanted) > 6 && Math.abs(y - py) < 20 ? py + (y > py ? 22 : -22) : y;
    const up = Math.max(moved, ...notes.filter(({ right }) => left < right).map(({ bottom }) => bottom + 9));
    pen.textAlign = 'left';
    rimmedText(pen, count, left + width, up, theme.soft, theme.paper);
    pen.font = `italic 15px ${SERIF}`;
    rimmedText(pen, name, left, up, colors[leader], theme.paper);
    pen.globalAlpha = 1;
  }
}

/** A ring around a token, and its name unless it is null. */
function drawChosen(pen, stage, places, token, theme, name) {
  const [x, y] = [places[3 * token], places[3 * token + 1]];
  ring(pen, x, y, 11, theme.paper, 4.5);
  ring(pen, x, y, 11, theme.accent, 2.2);
  if (name === null) return;
  setText(pen, `italic 600 16px ${SERIF}`, x < stage.x ? 'left' : 'right', 'middle');
  rimmedText(pen, name, x + (x < stage.x ? 16 : -16), y, theme.accent, theme.paper);
}
