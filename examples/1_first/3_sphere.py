"""
What does it look like on a sphere?
===================================

**Answer.** The same happens in three dimensions: tokens run to a few points along short paths.
Start and end are dots, lines behind the sphere are fainter, and the first token, which never
moves, has a diamond.
"""

import parkade as pk
from parkade import plots

x0 = pk.sphere.uniform(60, 3, seed=2)
run = pk.simulate(pk.Attention(d=3, beta=16.0), x0, t_end=50.0)
print(run.merge_tree().count(50.0), "clusters at t = 50")
plots.sphere(run)
