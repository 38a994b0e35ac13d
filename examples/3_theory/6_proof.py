"""
Can a simulation of clusters be proved?
=======================================

**Answer.** On the circle, yes: `pk.certify` encloses the solution with interval arithmetic, from
the start to t = 10⁶⁰. Each bar is a time for which the number of clusters is proved; the gaps
between them are too short to be seen, but for early merges. The black line is a simulation.
"""

import parkade as pk

x0 = pk.sphere.uniform(12, 2, seed=1)
certificate = pk.certify(x0, beta=16.0)
print(certificate)

# %%
# A simulation agrees if each of its merges is within the bounds.

run = pk.simulate(pk.Attention(d=2, beta=16.0), x0, t_end=1e60)
print("the simulation agrees:", certificate.agrees(run))

pk.plots.proved(certificate, run=run)
