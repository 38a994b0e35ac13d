"""
Can the whole life be predicted?
================================

**Answer.** Yes, from the start alone. ``pk.theory.forecast`` follows only leaders, one after the
other, and simulates nothing. After t = 100 it names every partner of this run, and every time to a
fraction of a percent. (:doc:`/findings` has 2948 merges, of which it gets 2946.)
"""

import parkade as pk
from parkade import plots

x0 = pk.sphere.uniform(200, 2, seed=1)
forecast = pk.theory.forecast(x0, beta=64.0)
run = pk.simulate(pk.Attention(d=2, beta=64.0), x0, t_end=1e60)
match = pk.clusters.agreement(forecast, run.merge_tree())
print(f"{match.right.sum()} of {len(match.right)} partners right, ln t off by {match.error:.4f}")
plots.staircase(run, forecast=forecast)
