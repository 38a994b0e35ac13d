"""
What is the phase diagram?
==========================

**Answer.** Many clusters early and at large β, one late and at small β, and between them long
plateaus. ``pk.ensemble`` runs a grid on all cores, with the same bits for any number of threads,
and returns one labelled Dataset.
"""

import parkade as pk
from parkade import plots

beta = [1, 2, 4, 8, 16, 32, 64]
ds = pk.ensemble(d=2, n=60, beta=beta, runs=20, t_end=100.0, seed=1)
print(ds.clusters.sel(time=100.0).mean("run").to_series().round(2).to_string())
plots.phase_diagram(ds)
