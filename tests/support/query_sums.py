"""Sums at queries of any direction and length, for tests: the compiled ones with their memory."""

from __future__ import annotations

import numpy as np

from parkade.engine.compile.jit import interpreted
from parkade.engine.sums import queries
from parkade.engine.sums.basis import basis
from parkade.engine.sums.general import at_queries
from parkade.engine.sums.running import CHUNK, Chunk
from parkade.engine.system import unrolled
from support.harmonics import any_queries, systems
from support.running_sums import N, nothing_yet

no_queries = interpreted(queries.make_queries)


class At:
    """The compiled sums over some tokens, at queries β KᵀQ x."""

    def __init__(self, d, norm, seed=0):
        self.d, self.dims = d, unrolled(d)
        self.system = systems(any_queries(d, norm, seed), N, accuracy=1e-13)[1]
        self.engine = at_queries(self.dims)
        self.running = nothing_yet(d, self.system.table)
        make_series = interpreted(self.engine.make_series)
        self.series = make_series(self.system.table, self.system.lengths)
        self.queries = no_queries(d)

    def set(self, x, lo, hi):
        queries.set_queries(self.system, self.dims, x, lo, hi, self.queries)

    def add(self, x, mass):
        basis(self.dims).add_features(self.running, x, mass)
        return self

    def first(self, x):
        rows = []
        for k in range(0, len(x), CHUNK):
            chunk, out = Chunk(x, k, min(len(x), k + CHUNK)), np.empty((CHUNK, 2 + self.d))
            self.set(x, chunk.lo, chunk.hi)
            self.engine.far_sums(self.running, self.series, self.queries, chunk, out, False)
            rows.append(out[: chunk.hi - chunk.lo])
        rows = np.concatenate(rows)
        return rows[:, 0], rows[:, 1], rows[:, 2:]

    def second(self, x):
        outs, seconds = np.empty((len(x), 2 + self.d)), np.empty((len(x), self.d, self.d))
        before = self.running.state.copy()
        for k in range(len(x)):
            self.set(x, k, k + 1)
            parts = outs[k : k + 1], seconds[k : k + 1]
            self.engine.far_second(
                self.running, self.series, self.queries, Chunk(x, k, k + 1), *parts
            )
            self.running.state[:] = before
        return outs[:, 0], outs[:, 1], outs[:, 2:], seconds
