"""Running sums: what rounding takes from them is carried along."""

from __future__ import annotations

import mpmath
import numpy as np
from support.common import EPS
from support.marks import both
from support.running_sums import Sums, unit

from parkade.engine.sums.running import close_group, fold


@both
def test_heavy_cluster(d):
    """Compensation: the error that 1e5 tokens in a point cause at places that they do not reach."""
    rng = np.random.default_rng(5)
    place = np.array([0.3, -0.5, 0.7])[:d]
    x = unit(unit(place) + 1e-3 * rng.standard_normal((100_000, d)))
    mass = np.ones(len(x))
    far = unit(-place + 0.5 * np.linalg.norm(place) * rng.standard_normal((64, d)))
    far = np.ascontiguousarray(far[far @ unit(place) < 0.7])
    folded, plain = Sums(d, 64.0), Sums(d, 64.0)
    ledger = np.zeros((8, folded.table.shape[1]))
    for lo in range(0, len(x), 16):  # more often than a run does: there is more to lose
        folded.add(x, mass, lo, lo + 16)
        plain.state[:2] += folded.state[2:]
        fold(folded.state, ledger)
    expected = np.array([np.sum(np.exp(-32.0 * np.sum((x - y) ** 2, axis=1))) for y in far])
    assert np.max(expected) < 1e-3  # so the definition has no error to speak of
    assert len(far) > 40
    folded, plain = (np.max(np.abs(sums.at(far)[0] - expected)) for sums in (folded, plain))
    # With compensation, moments of up to 1e5 are rounded once: by EPS/2 each, and their
    # coefficients add up to 1; products with functions of x are rounded, too.
    assert folded <= 1.5 * EPS * len(x) < plain


def test_fold_keeps_what_rounding_loses():
    rng = np.random.default_rng(6)
    state, ledger = np.zeros((4, 3)), np.zeros((8, 3))
    parts = rng.standard_normal((1000, 2, 3)) * 10.0 ** rng.integers(-12, 6, (1000, 2, 3))
    for i, part in enumerate(parts):
        state[2:] = part
        fold(state, ledger)
        assert not state[2:].any()
        if i % 100 == 99:
            close_group(ledger)
            assert not ledger[4:].any()
    with mpmath.workdps(60):
        for c, i in np.ndindex(2, 3):
            total = mpmath.fsum(mpmath.mpf(v) for v in parts[:, c, i])
            size = np.sum(np.abs(parts[:, c, i]))
            # What was lost is itself rounded, at most 1000 times.
            error = mpmath.mpf(ledger[c, i]) + mpmath.mpf(ledger[2 + c, i]) - total
            assert abs(error) <= 1000 * EPS**2 * size
            # The base that far_sums sees has all of it, rounded once or twice.
            assert abs(mpmath.mpf(state[c, i]) - total) <= 2 * EPS * abs(total) + EPS**1.5 * size
