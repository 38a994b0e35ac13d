// The forecast as a scene: each cluster stays where its leader started, until the leader joins another.

import { Scene } from '../scene.js';

/** The scene of the forecast that a scene has. */
export function forecastScene(scene) {
  const { n, d, times, count, forecast } = scene;
  const joins = new Map(forecast.merges.map(({ absorbed, into, t }) => [absorbed, { into, t }]));
  const frames = new Float32Array(count * n * d);
  const labels = new Uint16Array(count * n);
  const clusters = times.map((t, f) => {
    const places = scene.frames.subarray(0, n * d);
    let led = 0;
    for (let k = 0; k < n; k++) {
      let leader = k;
      // A leader is earlier than those it leads, so this comes to an end.
      while (joins.has(leader) && joins.get(leader).t <= t) leader = joins.get(leader).into;
      if (leader === k) led += 1;
      labels[f * n + k] = leader;
      frames.set(places.subarray(leader * d, (leader + 1) * d), (f * n + k) * d);
    }
    return led;
  });
  const { axes, centers, delta, mask, plateaus } = scene;
  return new Scene({
    n, d, times, clusters, axes, centers, delta, mask, plateaus,
    label: 'forecast', frames: frames.buffer, labels: labels.buffer, merges: forecast.merges,
  });
}
