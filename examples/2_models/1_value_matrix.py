"""
What does the value matrix decide?
==================================

**Answer.** Where tokens end. The eigenvalue λ of V with the largest real part and its eigenspace L
decide it: one point, two points, or clouds around L. ``pk.theory.final_configuration`` says which,
and whether that is a theorem, a conjecture or an observation.
"""

import parkade as pk
from parkade import plots

x0 = pk.sphere.uniform(32, 3, seed=1)
figure = plots.new_figure(7.0, 4.9)
choices = [[1, 1, 1], [1, 1, -1], [1, -1, -1], [-1, -1, -1], [-1, -1, -3], [-1, -3, -3]]
for V, ax in zip(choices, figure.subplots(2, 3).flat, strict=True):
    final = pk.theory.final_configuration(V)
    run = pk.simulate(pk.Attention(V=V, beta=9.0), x0, t_end=5000.0)
    plots.sphere(run, ax=ax)
    ax.set_title(f"V = diag{tuple(V)}\n{final.kind} ({final.status})")
figure
