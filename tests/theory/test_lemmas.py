import math

import mpmath
import numpy as np
import pytest

import parkade as pk
from parkade.theory.lemmas import g, g_min, h, h_max, simple_time, smallest_c

BETAS = [1e-6, 0.1, 1 / 3, 0.35, 0.5, 1.0, 1.5, 2.0, 9.0, 64.0, 1e4, 1e10]


def test_definitions():
    x = np.linspace(-3, 3, 25)
    for beta in (0.0, 0.5, 9.0):
        weight = np.exp(beta * (np.cos(x) - 1))
        assert np.allclose(h(x, beta), weight * np.sin(x), rtol=1e-13)
        assert np.allclose(g(x, beta), weight * (np.cos(x) - beta * np.sin(x) ** 2), atol=1e-14)
        slope = (h(x + 1e-6, beta) - h(x - 1e-6, beta)) / 2e-6
        assert np.allclose(g(x, beta), slope, atol=1e-8)
    assert isinstance(h(1.0, 2.0), float)


def test_h_is_the_velocity_of_two_tokens():
    beta, x = 4.0, 0.7
    v = pk.Attention(d=2, beta=beta).velocity(pk.sphere.from_angles([0.0, x]))[1]
    z = 1 + math.exp(beta * (math.cos(x) - 1))
    assert np.linalg.norm(v) == pytest.approx(h(x, beta) / z, rel=1e-13)


@pytest.mark.parametrize("beta", BETAS)
def test_extremes(beta):
    width = min(math.pi, 20 / math.sqrt(beta))
    x = np.linspace(0, width, 20_001)
    top, low = h_max(beta), g_min(beta)
    assert top.value >= h(x, beta).max()
    assert low.value <= g(x, beta).min() + 1e-15
    assert top.value == pytest.approx(h(x, beta).max(), rel=1e-6)
    assert low.value == pytest.approx(g(x, beta).min(), rel=1e-6)
    assert g(x, beta).max() == 1
    assert 0 < top.at < low.at <= math.pi


@pytest.mark.parametrize("beta", [1e-300, 1e-9, *BETAS, 1e20, 1e300])
def test_extremes_to_many_digits(beta):
    with mpmath.workdps(700):
        b = mpmath.mpf(beta)
        top = mpmath.acos((mpmath.sqrt(4 * b**2 + 1) - 1) / (2 * b))
        assert abs(h_max(beta).at / top - 1) < 1e-15
        assert abs(smallest_c(beta) / (mpmath.sqrt(b) * top) - 1) < 1e-15
        if beta > 1 / 3:
            low = mpmath.acos((mpmath.sqrt(4 * b**2 + 5) - 3) / (2 * b))
            assert abs(g_min(beta).at / low - 1) < 1e-15


def test_one_is_always_large_enough():
    grid = np.geomspace(1e-9, 1e7, 500)
    c = np.array([smallest_c(b) for b in grid])
    assert (c < 1).all()
    assert (np.diff(c) > 0).all()
    # The search for c relies on it: see conditions.py.
    assert max(math.sqrt(b) * g_min(b).at for b in grid) < 1.82


def test_the_simple_time_is_a_lower_bound_for_every_angle():
    rng = np.random.default_rng(0)
    for _ in range(2000):
        beta = 10 ** rng.uniform(-2, 4)
        u = rng.uniform(1e-3, math.pi * (1 - 1e-9))
        c, s = u * math.sqrt(beta), int(rng.integers(1, 100))
        exact = math.log(0.1 * u / s / math.sin(u)) + 2 * beta * math.sin(u / 2) ** 2
        simple = simple_time(c, beta, 0.1, s)
        if math.isfinite(simple):
            assert math.log(simple) <= exact + 1e-9
    # It is tight where c⁴ ≪ 24β, and falls beyond c = √(6β).
    assert simple_time(4, 1e8, 0.1, 2) * 2 * h(4e-4, 1e8) == pytest.approx(0.1 * 4e-4, rel=1e-5)
    assert simple_time(2.3, 1, 0.1, 1) < simple_time(2.44, 1, 0.1, 1)
    assert simple_time(3.0, 1, 0.1, 1) < simple_time(2.44, 1, 0.1, 1)
    with pytest.raises(pk.InputError, match="angle below π"):
        simple_time(3.2, 1, 0.1, 1)


def test_bad_input_gets_a_sentence():
    with pytest.raises(pk.InputError, match="beta must be ≥ 0"):
        h(1.0, -1.0)
    with pytest.raises(pk.InputError, match="beta must be > 0"):
        smallest_c(0.0)
