"""
Who wins in the end?
====================

**Answer.** The first token. With V = I it never moves, and Theorem 4.1 of the paper says that all
others end where it is. The largest distance to it falls to zero when the last cluster arrives,
here after 10⁴⁸. Nobody could wait for that in an explicit code; implicit steps grow with time.
"""

import numpy as np

import parkade as pk
from parkade import plots

x0 = pk.sphere.uniform(200, 2, seed=1)
run = pk.simulate(pk.Attention(d=2, beta=64.0), x0, t_end=1e60)
times = np.geomspace(1, 1e60, 600)
distance = pk.sphere.distance(run.at(times), x0[0])
print(f"largest distance at the end: {distance[-1].max():.0e}, after {run.stats.steps} steps")

ax = plots.new_figure(7.0, 2.6).add_subplot()
ax.semilogx(times, distance, color="0.7", linewidth=0.5)
ax.semilogx(times, distance.max(axis=1), color="#D55E00", linewidth=1.5)
ax.set(xlabel="time t", ylabel="distance to the first token")
ax
