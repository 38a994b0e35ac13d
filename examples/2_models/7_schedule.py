"""
Can the number of clusters be chosen?
=====================================

**Answer.** Roughly, by β. ``pk.theory.schedule`` says which constant β leaves a wanted number of
clusters at a given depth. If β grows like b·ln t instead, with b large enough, the number freezes.
"""

import math

import parkade as pk
from parkade import plots

x0 = pk.sphere.uniform(200, 2, seed=1)
plan = pk.theory.schedule(clusters=5, depth=1e6)
runs = {
    f"constant β = {plan.beta[0]:.0f}": plan,
    "β = 4 ln(1 + t)": pk.Schedule.of(lambda t: 4 * math.log1p(t), t_end=1e12),
}
figure = plots.new_figure(7.0, 5.4)
for (name, schedule), ax in zip(runs.items(), figure.subplots(2, 1), strict=True):
    run = pk.simulate(pk.Attention(d=2), x0, t_end=1e12, schedule=schedule)
    tree = run.merge_tree()
    print(f"{name}: {tree.count(1e6)} clusters at t = 10⁶, {tree.count(1e12)} at 10¹²")
    plots.staircase(tree, ax=ax)
    ax.set_title(name)
figure
