// Rotations as unit quaternions [w, x, y, z].

export const UPRIGHT = [1, 0, 0, 0];

// A view from a little above, so that the sphere looks like one.
export const TILTED = normalised([0.88, -0.42, -0.2, -0.1]);

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

/** The rotation matrix, row by row. */
export function rotationMatrix([w, x, y, z]) {
  return [
    1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
    2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
    2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
  ];
}
