"""
How long until two tokens meet?
===============================

**Answer.** About exp(β(1 − cos φ))/(β sin²φ) for two tokens at the angle φ, and exactly
``pk.theory.log_meeting_time``. The dots are simulations, over fifty decades; the line is the
theory.
"""

import numpy as np

import parkade as pk
from parkade import plots

beta = 64.0
model = pk.Attention(d=2, beta=beta)
phi = np.linspace(0.3, 2.9, 14)
seen = [
    pk.simulate(model, pk.sphere.from_angles([0.0, angle]), t_end=1e60).merge_tree().events[0].time
    for angle in phi
]
predicted = [float(pk.theory.log_meeting_time(angle, beta)) for angle in phi]
print(f"largest error of ln t: {np.abs(np.log(seen) - predicted).max():.4f}")

ax = plots.new_figure(3.4, 2.8).add_subplot()
ax.plot(phi, np.array(predicted) / np.log(10), color="0.6")
ax.plot(phi, np.log10(seen), "o", color="#0072B2", markersize=4)
ax.set(xlabel="angle φ at the start", ylabel="log₁₀ of the time of the merge")
ax
