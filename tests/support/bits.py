"""Runs whose bits must not depend on who compiled what, when, and in which order.

As a script: run the cases named on the command line, in this order, and print their digests. With
NUMBA_NRT_STATS=1, use the rest of the engine too, and print how many arrays were made and freed.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import NamedTuple

import parkade as pk
from parkade.engine.compile import jit
from parkade.solve.warmup import Kind

_SOURCE = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:8]
KEPT = jit.private_directory() / f"bits-{_SOURCE}.json"
"""Digests of these cases from the processes that compiled; beside the code itself."""


class Case(NamedTuple):
    """A run with one kind of machine code."""

    method: str
    d: int
    sums: str
    mask: str

    @property
    def name(self):
        return "-".join(map(str, self))

    @property
    def kind(self):
        return Kind.of(*self)

    def digest(self):
        """The digest of every bit of the run."""
        # Two chunks of harmonic sums, the second one of them short; and merges, hundreds of steps.
        long = self.method == "implicit" and self.mask == "causal"
        model = pk.Attention(self.d, beta=30.0 if self.d == 2 else 9.0, mask=self.mask)
        x0 = pk.sphere.uniform(70 if long else 24, self.d, seed=4)
        t_end = 1e30 if long and self.d == 2 else 1e4 if long else 10.0
        run = pk.simulate(model, x0, t_end, method=self.method, sums=self.sums)
        return hashlib.sha256(run.times.tobytes() + run.tokens.tobytes()).hexdigest()[:16]


def _cases():
    for d in (2, 3, 5, 8):
        yield Case("explicit", d, "direct", "causal")
        yield Case("explicit", d, "direct", "full")
        yield Case("implicit", d, "direct", "causal")
        yield Case("implicit", d, "direct", "full")
    for d in (2, 3):
        yield Case("explicit", d, "harmonic", "causal")
        yield Case("explicit", d, "harmonic", "full")
        yield Case("implicit", d, "harmonic", "causal")


CASES = {case.name: case for case in _cases()}


def preload():
    """Call functions that engines are made of, before there is an engine."""
    import numpy as np

    from parkade.engine import vectors
    from parkade.engine.flow.velocity import velocity
    from parkade.engine.jacobian import pairwise_linear, small_matrices, substitution
    from parkade.engine.jacobian.linearization import allocate
    from parkade.engine.steps import stages
    from parkade.engine.system import LOG2E
    from parkade.solve.lowering.lower import prepare

    x = pk.sphere.uniform(24, 2, seed=1)
    system, lin = prepare(pk.Attention(2, beta=3.0)), allocate(24, 2, causal=True)
    velocity(system, x)
    vectors.normalize(x)
    pairwise_linear.linearize(system, system.query / LOG2E, x, lin)
    inverses, u = np.zeros((24, 1, 4)), np.zeros((2, 32))
    small_matrices.invert(lin.blocks, 1.0, inverses)
    substitution.solve(system, substitution.Equations(lin, inverses, lin.velocity.copy(), u))
    stages.combine(np.ones(1), 1.0, u[None], x, x.copy(), 0, 24)


def count_arrays():
    """How many pieces of memory, and how many arrays, compiled code has made and freed."""
    from numba.core.runtime import rtsys

    from parkade.solve.warmup import warm_up_one

    warm_up_one(None)
    stats = rtsys.get_allocation_stats()
    return [[stats.alloc, stats.free], [stats.mi_alloc, stats.mi_free]]


if __name__ == "__main__":
    names = sys.argv[1:]
    if names[0] == "preload":
        preload()
        names.pop(0)
    digests = {name: CASES[name].digest() for name in names}
    if os.environ.get("NUMBA_NRT_STATS"):
        digests["arrays"] = count_arrays()
    print(json.dumps(digests))
