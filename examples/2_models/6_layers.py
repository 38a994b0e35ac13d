"""
How many layers make a flow?
============================

**Answer.** Layers with a step size h differ from the flow by O(h): ten times more layers, a tenth
of the error. At h = 1, as in a transformer without scaling, the clusters are the same but not
their positions.
"""

import numpy as np

import parkade as pk
from parkade import plots

x0 = pk.sphere.uniform(30, 2, seed=1)
model = pk.Transformer([pk.Head(d=2, beta=9.0)], norm="pre")
flow = pk.simulate(model, x0, t_end=12.0)
steps = np.array([1.0, 0.3, 0.1, 0.03, 0.01, 0.003])
errors = [
    np.abs(pk.forward(model, x0, round(12 / h), step=h).at(12.0) - flow.final).max() for h in steps
]
order = np.polyfit(np.log(steps), np.log(errors), 1)[0]
print(f"error ~ h^{order:.2f}")

ax = plots.new_figure(3.4, 2.8).add_subplot()
ax.loglog(steps, errors, "o-", color="#0072B2")
ax.set(xlabel="step size h of a layer", ylabel="largest error of a token")
ax
