// What the drawings of the sphere and the circle share: the projection to the screen, the colours of tokens, and trails.

import { rotationMatrix } from './turn.js';
import { clusterColors, sequenceColor } from './palette.js';

/** Orthographic projection into a box of the screen. */
export class Stage {
  constructor(box, scene, view) {
    this.box = box;
    this.matrix = rotationMatrix(view.turn ?? scene.home);
    // Arcs and names need room outside the circle.
    const room = scene.d === 2 ? (box.w < 420 ? 0.36 : 0.385) : 0.44;
    this.size = Math.min(box.w, box.h);
    this.radius = room * this.size * view.zoom;
    this.x = box.x + box.w / 2 + view.pan[0] * this.size;
    this.y = box.y + box.h / 2 + view.pan[1] * this.size;
    this.space = scene.space;
  }

  /** Screen x, y and depth (towards the viewer) of a point of the ball, into `out` at `o`. */
  put(point, i, out, o) {
    const m = this.matrix;
    const a = point[i];
    const b = point[i + 1];
    const c = this.space === 3 ? point[i + 2] : 0;
    out[o] = this.x + this.radius * (m[0] * a + m[1] * b + m[2] * c);
    out[o + 1] = this.y - this.radius * (m[3] * a + m[4] * b + m[5] * c);
    out[o + 2] = this.space === 3 ? m[6] * a + m[7] * b + m[8] * c : 1;
  }

  /** Screen positions of tokens, n × 3. */
  putAll(tokens, n) {
    const out = new Float64Array(3 * n);
    for (let k = 0; k < n; k++) this.put(tokens, k * this.space, out, 3 * k);
    return out;
  }
}

/** The colours of tokens, computed once for a scene and a theme. */
export class TokenColors {
  constructor(scene, theme) {
    const { n, labels } = scene;
    this.theme = theme;
    this.n = n;
    this.leaders = clusterColors(scene, theme);
    this.sequence = Array.from({ length: n }, (_, k) => sequenceColor(k, n, theme));
    // Whose colour each token has in each frame: that of its last cluster that had one.
    this.owners = labels.slice();
    for (let i = n * Math.max(1, scene.formed); i < labels.length; i++) {
      if (this.leaders[labels[i]] === null) this.owners[i] = this.owners[i - n];
    }
  }

  color(mode, k, frame) {
    if (mode === 'position') return this.sequence[k];
    return this.leaders[this.owners[frame * this.n + k]];
  }

  /** One colour for each token; those without a cluster are grey. */
  all(mode, frame) {
    return Array.from({ length: this.n }, (_, k) => this.color(mode, k, frame) ?? this.theme.soft);
  }
}

/** Size of each cluster by its leader. */
export function clusterSizes(labels) {
  const sizes = new Map();
  for (const leader of labels) sizes.set(leader, (sizes.get(leader) ?? 0) + 1);
  return sizes;
}

/**
 * The frames at which the path of each token bends. A token at rest needs no points, so trails
 * stay cheap for thousands of tokens.
 */
export function pathVertices(scene) {
  const { n, space, count, drawn } = scene;
  const bend = n > 500 ? 0.03 : 0.012;
  return Array.from({ length: n }, (_, k) => {
    const vertices = [0];
    let last = 0;
    for (let f = 1; f < count; f++) {
      let apart = 0;
      for (let c = 0; c < space; c++) {
        apart += (drawn[(f * n + k) * space + c] - drawn[(last * n + k) * space + c]) ** 2;
      }
      if (apart < bend * bend) continue;
      if (f - 1 > last) vertices.push(f - 1);
      vertices.push(f);
      last = f;
    }
    return vertices;
  });
}

export const TRAILS = 600; // more paths than this could not be told apart

/**
 * The paths up to u in pieces of one colour: a Map from colours to pieces { token, frames, open },
 * where an open piece goes on to the place of the token now. A piece has the colour of the cluster
 * the token was in; before clusters have formed, of the first one it joins.
 */
export function trailPieces(show, view, only = null) {
  const { scene, colors, paths } = show;
  const { n } = scene;
  const { frame } = scene.frameAt(view.u);
  const formed = Math.min(frame, scene.formed);
  const trails = new Map();
  const colorAt = (k, f) => colors.color(view.color, k, Math.max(f, formed)) ?? colors.theme.faint;
  const add = (color, piece) => {
    if (!trails.has(color)) trails.set(color, []);
    trails.get(color).push(piece);
  };
  const stride = only === null ? Math.ceil(n / TRAILS) : 1;
  for (let k = only ?? 0; k <= (only ?? n - 1); k += stride) {
    let color = colorAt(k, 0);
    let frames = [0];
    for (const f of paths[k]) {
      if (f > frame) break;
      if (f > frames[frames.length - 1]) frames.push(f);
      const next = colorAt(k, f);
      if (next === color) continue;
      add(color, { token: k, frames, open: false });
      color = next;
      frames = [f];
    }
    add(color, { token: k, frames, open: true });
  }
  return trails;
}
