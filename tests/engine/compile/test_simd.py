"""2^x in compiled code, against mpmath."""

from __future__ import annotations

import functools

import mpmath
import numba
import numpy as np
import pytest
from support.common import EPS

from parkade.engine.compile.simd import exp2

FLAGS = {
    "none": False,
    "contract": {"contract"},
    "reassoc": {"reassoc", "contract"},
    "all": True,
}


@pytest.fixture(scope="module", params=FLAGS)
def compiled(request):
    """exp2 in a vectorisable loop of a caller with these fast-math flags."""

    @numba.njit(fastmath=FLAGS[request.param])
    def loop(x, out):
        for i in range(x.size):
            out[i] = exp2(x[i])

    def call(x):
        out = np.empty(len(x))
        loop(np.asarray(x, dtype=np.float64), out)
        return out

    return call


@functools.cache
def powers():
    """Numbers x, and 2^x."""
    rng = np.random.default_rng(1)
    whole = np.arange(-1022.0, 1001.0)
    x = np.concatenate([rng.uniform(-1022, 1000, 4000), whole, whole[1:] - 0.5, whole[1:] - 0.499])
    with mpmath.workprec(100):
        return x, [mpmath.mpf(2) ** mpmath.mpf(float(v)) for v in x]


def test_exp2_is_accurate_in_every_caller(compiled):
    x, exact = powers()
    with mpmath.workprec(100):
        error = [abs(mpmath.mpf(float(y)) / e - 1) for y, e in zip(compiled(x), exact, strict=True)]
    assert max(error) <= 4e-16


def test_exp2_is_exact_where_it_matters(compiled):
    # A token's weight for itself is 1; what underflows is 0, never NaN or garbage.
    assert np.array_equal(compiled([0.0, -0.0, 1.0, -1.0, 10.0]), [1.0, 1.0, 2.0, 0.5, 1024.0])
    assert not compiled([-1023.0, -1023.5, -2000.0, -1e300, -np.inf]).any()


@pytest.mark.parametrize("flags", FLAGS)
def test_exp2_survives_in_a_reduction(flags):
    # Where x − shift meets the rounding trick, `reassoc` would cancel the trick.
    @numba.njit(fastmath=FLAGS[flags])
    def total(x, shift):
        result = 0.0
        for i in range(x.size):
            result += exp2(x[i] - shift)
        return result

    x = np.random.default_rng(2).uniform(-30, 0, 1000)
    expected = np.sum(np.exp2(x.astype(np.longdouble) - 3))
    # Each term is good to 4e-16; summing 1000 positive terms adds at most 1000 EPS.
    assert total(x, 3.0) == pytest.approx(float(expected), rel=1000 * EPS)
