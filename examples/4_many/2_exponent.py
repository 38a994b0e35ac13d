"""
How does the number of clusters grow with β?
============================================

**Answer.** Like the square root of β on the circle: attraction has the range β^(−1/2), and
clusters are a few ranges apart. This small sample gives an exponent near 0.5; :doc:`/claims` has a
larger one, and S².
"""

import numpy as np

import parkade as pk
from parkade import plots

beta = np.array([16, 32, 64, 128, 256])
ds = pk.ensemble(d=2, n=200, beta=beta.tolist(), runs=30, t_end=30.0, times=[30.0], seed=2)
count = ds.clusters.sel(time=30.0).mean("run").values
slope, height = np.polyfit(np.log(beta), np.log(count), 1)
print(f"clusters ~ β^{slope:.2f}")

ax = plots.new_figure(3.4, 2.6).add_subplot()
ax.loglog(beta, np.exp(height) * beta**slope, color="0.7")
ax.loglog(beta, count, "o", color="#0072B2")
ax.set(xlabel="β", ylabel="mean number of clusters, t = 30")
ax.set_xticks(beta, beta)
ax.set_yticks([5, 10, 15], [5, 10, 15])
ax.minorticks_off()
ax
