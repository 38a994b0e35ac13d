"""
How long does a cluster last?
=============================

**Answer.** Exponentially long. Leaders at the angle φ attract each other with a force of exp(−β(1
− cos φ)), so a cluster rests for about exp(β(1 − cos φ)) and then merges in a time of order one.
On a logarithmic axis of time the number of clusters is a staircase, here over sixty decades.
"""

import parkade as pk
from parkade import plots

x0 = pk.sphere.uniform(200, 2, seed=1)
run = pk.simulate(pk.Attention(d=2, beta=64.0), x0, t_end=1e60)
for state in run.merge_tree().plateaus:
    print(f"{state.clusters} clusters for {state.lifetime:.1e}" + (" at least" * state.open))
plots.life(run)
