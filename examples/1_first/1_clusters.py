"""
Do tokens cluster?
==================

**Answer.** Yes. Two hundred tokens start uniformly on the circle (grey). At t = 150 nearly all of
them are at seven points (blue), each at an early token that had no earlier one nearby.
"""

import parkade as pk
from parkade import plots

run = pk.simulate(pk.Attention(d=2, beta=64.0), pk.sphere.uniform(200, 2, seed=1), t_end=150.0)
print(run.merge_tree().count(150.0), "clusters")
plots.circle(run)
