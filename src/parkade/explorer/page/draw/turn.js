// Rotations as unit quaternions [w, x, y, z].

export const UPRIGHT = [1, 0, 0, 0];

function normalised(q) {
  const size = Math.hypot(...q);
  return q.map((c) => c / size);
}

/** First `b`, then `a`. */
export function composed(a, b) {
  const [aw, ax, ay, az] = a;
  const [bw, bx, by, bz] = b;
  return normalised([
    aw * bw - ax * bx - ay * by - az * bz,
    aw * bx + ax * bw + ay * bz - az * by,
    aw * by - ax * bz + ay * bw + az * bx,
    aw * bz + ax * by - ay * bx + az * bw,
  ]);
}

export function aboutAxis(x, y, z, angle) {
  const s = Math.sin(angle / 2);
  return [Math.cos(angle / 2), s * x, s * y, s * z];
}

/** The third axis up, and the point in front: a little to the right of the middle, near its own height. */
export function facing([x, y, z]) {
  const azimuth = Math.atan2(y, x) - 0.45;
  const height = Math.min(0.5, Math.max(-0.3, 0.6 * Math.asin(Math.min(1, Math.max(-1, z))))) || 0.2;
  return composed(aboutAxis(1, 0, 0, height - Math.PI / 2), aboutAxis(0, 0, 1, -Math.PI / 2 - azimuth));
}

/** The rotation matrix, row by row. */
export function rotationMatrix([w, x, y, z]) {
  return [
    1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
    2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
    2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
  ];
}
