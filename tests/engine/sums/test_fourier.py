"""What is particular to the circle."""

from __future__ import annotations

import numpy as np
from support.running_sums import N, Sums, tokens

from parkade.engine.sums import fourier
from parkade.engine.sums.running import Chunk


def test_fourier_leaves_out_what_nobody_asks_for():
    x = tokens("random", 2, np.random.default_rng(10))
    sums = Sums(2, 9.0).add(x, np.ones(N))
    sums.running.scratch[2] = 0.0
    out = np.full((1, 4), np.nan)
    fourier.far_sums(sums.running, Chunk(x, 0, 1), out, False, True, True)
    assert out[0, 1] == 0.0
