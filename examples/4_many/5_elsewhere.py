"""
What if my tokens come from somewhere else?
===========================================

**Answer.** Make them a ``pk.Path``: directions of any vectors over any clock, such as the hidden
states of a model layer by layer. Clusters, merge trees, plots and pages take it. Here fifty random
walkers stick to each other when they meet.
"""

import numpy as np

import parkade as pk
from parkade import plots

rng = np.random.default_rng(1)
angles = rng.uniform(-np.pi, np.pi, 50)
layers = [angles.copy()]
for _ in range(200):
    labels = pk.cluster_labels(pk.sphere.from_angles(angles), radius=0.05)
    angles = angles[labels] + 0.06 * rng.standard_normal(50)[labels]
    layers.append(angles.copy())

path = pk.Path(range(201), pk.sphere.from_angles(layers))
tree = path.merge_tree(radius=0.06)
print(path, "->", tree.count([0, 50, 200]).tolist(), "clusters")
plots.angles(path)
