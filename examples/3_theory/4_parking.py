"""
How many cars park on a street?
===============================

**Answer.** Rényi's: 0.7476 of the street is taken when no more cars of length one fit. Centres of
tokens on the circle are cars, so their mean number has a closed form. The sample agrees with it.
"""

import numpy as np

import parkade as pk
from parkade import plots

deltas = np.array([0.1, 0.2, 0.4, 0.8])
counts = np.array(
    [
        [len(pk.renyi_centers(pk.sphere.uniform(20_000, 2, seed=s), delta)) for s in range(30)]
        for delta in deltas
    ]
)
mean, error = counts.mean(axis=1), counts.std(axis=1) / np.sqrt(counts.shape[1])
exact = [pk.theory.expected_renyi_centers(delta) for delta in deltas]
for row in zip(deltas, mean, error, exact, strict=True):
    print("δ = {:.1f}: {:6.2f} ± {:.2f} centres, {:6.2f} expected".format(*row))
print(f"Rényi's constant: {pk.theory.PARKING_CONSTANT:.4f}")

ax = plots.new_figure(3.4, 2.8).add_subplot()
ax.errorbar(deltas, mean, 3 * error, fmt="o", color="#0072B2", markersize=4, label="sample, 3σ")
grid = np.geomspace(0.08, 1, 50)
curve = [pk.theory.expected_renyi_centers(delta) for delta in grid]
ax.loglog(grid, curve, color="0.6", zorder=0, label="expected")
ax.set(xlabel="separation δ", ylabel="Rényi centres on the circle")
ax.set_xticks(deltas, deltas)
ax.set_yticks([5, 10, 20, 50], [5, 10, 20, 50])
ax.minorticks_off()
ax.legend()
ax
