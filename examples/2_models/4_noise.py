"""
Does noise destroy clusters?
============================

**Answer.** Weak noise does not: clusters get a width and wander. Strong noise leaves none: tokens
are as far from those that would lead them as from any other, a quarter of the circle.
"""

import numpy as np

import parkade as pk
from parkade import plots

x0 = pk.sphere.uniform(60, 2, seed=1)
quiet = pk.simulate(pk.Attention(d=2, beta=16.0), x0, t_end=40.0)
leader = pk.cluster_labels(quiet.final, radius=0.1)  # of each token, without noise
figure = plots.new_figure(7.0, 2.6)
for kappa, ax in zip((2000.0, 200.0, 10.0), figure.subplots(1, 3, sharey=True), strict=True):
    model = pk.Attention(d=2, beta=16.0, noise=kappa)
    run = pk.simulate(model, x0, t_end=40.0, times=[0.2 * i for i in range(201)], seed=1)
    away = pk.sphere.distance(run.final, run.final[leader])
    print(f"κ = {kappa:4g}: half of the tokens within {np.median(away):.2f} of their leader")
    plots.angles(run, ax=ax)
    ax.set_title(f"κ = {kappa:g}")
figure
