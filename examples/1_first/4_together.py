"""
Who is together with whom?
==========================

**Answer.** ``pk.cluster_labels`` gives every token the number of the earliest token of its
cluster. Here is who follows whom at t = 20 and at t = 1000: the small cluster of token 28 joins
that of token 2.
"""

import numpy as np

import parkade as pk
from parkade import plots

x0 = pk.sphere.uniform(200, 2, seed=1)
run = pk.simulate(pk.Attention(d=2, beta=64.0), x0, t_end=1000.0)

figure = plots.new_figure(7.0, 3.4)
for t, ax in zip((20.0, 1000.0), figure.subplots(1, 2), strict=True):
    labels = pk.cluster_labels(run.at(t), radius=0.1)
    leaders, sizes = np.unique(labels, return_counts=True)
    plots.circle(run, t, ax=ax)
    ax.set_title(f"t = {t:g}: {len(leaders)} clusters")
    for leader, size in zip(leaders, sizes, strict=True):
        x, y = 0.8 * run.at(t)[leader]
        ax.text(x, y, f"{leader}\n×{size}", ha="center", va="center")
figure
