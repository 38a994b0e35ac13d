"""
How does the time grow with the number of tokens?
=================================================

**Answer.** Like n on the circle and on S², not like n². The weights of pairs are sums of a few
products there (Fourier modes, spherical harmonics), so no pair is ever looked at. Here is one run
of up to 100 000 tokens; :doc:`/large` has a million.
"""

import time

import numpy as np

import parkade as pk
from parkade import plots

model = pk.Attention(d=2, beta=64.0)
many, seconds = {"direct": [1000, 3000, 10_000], "harmonic": [1000, 10_000, 100_000]}, {}
for sums, numbers in many.items():
    for n in (10, *numbers):  # the first is not counted: it may compile
        begin = time.perf_counter()
        pk.simulate(model, pk.sphere.uniform(n, 2, seed=1), 1.0, times="final", sums=sums)
        seconds[sums, n] = time.perf_counter() - begin

ax = plots.new_figure(3.8, 2.8).add_subplot()
for sums, numbers in many.items():
    took = [seconds[sums, n] for n in numbers]
    slope = np.polyfit(np.log(numbers), np.log(took), 1)[0]
    print(f"{sums} sums: seconds ~ n^{slope:.1f}")
    ax.loglog(numbers, took, "o-", label=f"{sums} sums")
ax.set(xlabel="tokens n", ylabel="seconds for a run to t = 1")
ax.legend()
ax
