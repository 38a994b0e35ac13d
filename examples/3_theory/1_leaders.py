"""
Which tokens will lead?
=======================

**Answer.** Those that park. A token farther than δ = 4β^(−1/2) from every earlier token (a strong
Rényi centre, red) hardly moves. One that is only farther than δ from every earlier centre (black)
often leads as well. Both are known before anything moves.
"""

import parkade as pk
from parkade import plots

x0 = pk.sphere.uniform(200, 2, seed=1)
delta = 4 / 64**0.5
run = pk.simulate(pk.Attention(d=2, beta=64.0), x0, t_end=150.0)
print("strong centres:    ", pk.strong_renyi_centers(x0, delta))
print("Rényi centres:     ", pk.renyi_centers(x0, delta))
print("leaders at t = 150:", run.merge_tree().leaders(150.0))

figure = plots.new_figure(7.0, 2.6)
for t, ax in zip((0.0, 5.0, 150.0), figure.subplots(1, 3), strict=True):
    plots.centers(run, delta, t, ax=ax)
    ax.set_title(f"t = {t:g}")
figure
