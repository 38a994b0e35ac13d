"""
Is every conjecture true?
=========================

**Answer.** No. If the leading eigenvalue of V is simple, tokens should end at ±ξ whatever Q and K.
Here are two tokens with V = diag(1, ½) of which the second rests at 120°: its velocity is zero
there, and it comes back from both sides.
"""

import numpy as np

import parkade as pk
from parkade import plots

model = pk.Attention(V=[1, 0.5], Q=[-1, 1 + 4 / 3 * np.log(4)], beta=1.0)
angles = np.radians(np.arange(95.0, 180.0, 0.5))
speed = []
for phi in angles:
    x = pk.sphere.from_angles([0.0, phi])
    speed.append(model.velocity(x)[1] @ [-np.sin(phi), np.cos(phi)])
for start in (105, 170):
    run = pk.simulate(model, pk.sphere.from_angles(np.radians([0, start])), t_end=1e9)
    print(f"from {start}° to {np.degrees(pk.sphere.angles(run.final)[1]):.6f}°")

ax = plots.new_figure(3.4, 2.6).add_subplot()
ax.plot(np.degrees(angles), speed, color="#0072B2")
ax.axhline(0, color="0.8", zorder=0)
ax.plot(120, 0, "o", color="#D55E00")
ax.set(xlabel="angle of the second token (degrees)", ylabel="its velocity")
ax
