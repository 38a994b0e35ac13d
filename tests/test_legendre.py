"""Sums by spherical harmonics against the definition, in extended precision where it exists."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from conftest import EPS

from parkade.engine import legendre

BETAS = [0.01, 1.0, 9.0, 64.0, 256.0]
N = 300


def unit(v):
    return np.ascontiguousarray(v / np.linalg.norm(v, axis=-1, keepdims=True))


def tokens(name, rng):
    """N tokens: in the same place, spread, or where the coordinates are singular."""
    x = rng.standard_normal((N, 3))
    if name == "cluster":
        x = unit([0.3, -0.5, 0.7]) + 1e-9 * x
    elif name == "near a pole":
        x = np.array([0.0, 0.0, 1.0]) + 0.01 * x
    elif name == "poles":
        x[: N // 3] = 0.0, 0.0, 1.0
        x[N // 3 : 2 * N // 3] = 0.0, 0.0, -1.0
    elif name == "antipodal":
        x[N // 2 :] = -x[: N // 2]
    elif name == "equator":
        x[:, 2] = 0.0
    return unit(x)


CONFIGURATIONS = ["random", "cluster", "near a pole", "poles", "antipodal", "equator"]


def direct(x, mass, at, beta):
    """W, R, N and S by definition; t − 1 = −|x_j − x|²/2 loses no digits."""
    x, at = (v.astype(np.longdouble) for v in (x, at))
    x, at = (v / np.linalg.norm(v, axis=-1, keepdims=True) for v in (x, at))
    delta = x[None] - at[:, None]
    less = -np.sum(delta**2, axis=-1) / 2
    w = mass * np.exp(beta * less)
    tangent = delta - less[..., None] * at[:, None]
    return (
        np.sum(w, axis=1),
        np.sum(w * less, axis=1),
        np.sum(w[..., None] * tangent, axis=1),
        np.einsum("kj,kja,kjb->kab", w, delta, tangent),
    )


class Sums:
    """The compiled sums, for tests: all memory at hand."""

    def __init__(self, beta, tail=1e-15):
        self.table = legendre.table(beta, tail)
        self.scratch = legendre.scratch(self.table)
        self.state = np.zeros((6, self.table.shape[1]))

    def add(self, x, mass, lo=0, hi=None, fold=False):
        hi = len(x) if hi is None else hi
        legendre.add_features(self.table, x, mass, lo, hi, self.scratch, self.state)
        if fold:
            legendre.fold(self.state)
        return self

    def change(self, x, u, lo=0, hi=None):
        hi = len(x) if hi is None else hi
        legendre.add_changes(self.table, x, u, lo, hi, self.scratch, self.state)
        return self

    def at(self, x, lo=0, hi=None):
        """W, R, N and S at some tokens; those of far_sums and far_second have the same bits."""
        outs = [[], []]
        hi = len(x) if hi is None else hi
        for k in range(lo, hi, legendre.CHUNK):
            end = min(hi, k + legendre.CHUNK)
            out, again = np.full((2, legendre.CHUNK, 5), np.nan)
            second = np.full((legendre.CHUNK, 3, 3), np.nan)
            legendre.far_sums(self.table, self.state, x, k, end, self.scratch, out)
            legendre.far_second(self.table, self.state, x, k, end, self.scratch, again, second)
            np.testing.assert_array_equal(out, again)
            assert np.all(np.isnan(out[end - k :]))
            assert np.all(np.isnan(second[end - k :]))
            outs[0].append(out[: end - k])
            outs[1].append(second[: end - k])
        out, second = (np.concatenate(o) for o in outs)
        return out[:, 0], out[:, 1], out[:, 2:], second


def errors(got, expected):
    return [float(np.max(np.abs(g - e))) for g, e in zip(got, expected, strict=True)]


# --- the table ---------------------------------------------------------------------------


@pytest.mark.parametrize("beta", BETAS)
def test_series_is_the_weight(beta):
    angle = np.linspace(0, np.pi, 500)
    x = np.stack([np.sin(angle), 0 * angle, np.cos(angle)], axis=1)
    start = np.array([[0.0, 0.0, 1.0]])
    found = Sums(beta).add(start, np.ones(1)).at(x)
    less = -2 * np.sin(angle / 2) ** 2
    assert np.max(np.abs(found[0] - np.exp(beta * less))) <= 1e-13
    assert np.max(np.abs(found[1] - less * np.exp(beta * less))) <= 1e-13


@pytest.mark.parametrize("beta", [1e-3, 1.0, 64.0, 1e4])
def test_coefficients_have_all_digits(beta):
    table = legendre.table(beta, 1e-15)
    top = legendre.degree(table.shape[1])
    assert table.shape == (4, (top + 1) * (top + 2) // 2)
    assert np.all(np.isfinite(table))
    assert np.all(table[3] == beta)

    def exact(deg):  # a_l, da_l/dβ, over (2l + 1) e^{−β}
        b = mpmath.mpf(beta)
        i = [
            mpmath.sqrt(mpmath.pi / 2 / b) * mpmath.besseli(k + 0.5, b) for k in range(deg, deg + 2)
        ]
        return i[0], deg * i[0] / b + i[1] - i[0]

    with mpmath.workdps(60):
        for deg in sorted({0, 1, 2, top // 2, top}):
            scale = (2 * deg + 1) * mpmath.exp(-mpmath.mpf(beta))
            legendre_0 = mpmath.binomial(2 * deg, deg) ** 2 / mpmath.mpf(16) ** deg
            for row, value in zip(table[1:], exact(deg), strict=False):
                assert abs(row[deg] / (scale * legendre_0 * value) - 1) <= 3 * EPS
            edge = deg * (2 * top + 3 - deg) // 2  # m = l: a product of binomials is simple
            legendre_l = mpmath.binomial(2 * deg, deg) / mpmath.mpf(4) ** deg * (2 if deg else 1)
            assert abs(table[1, edge] / (scale * legendre_l * exact(deg)[0]) - 1) <= 3 * EPS


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("tail", [1e-15, 1e-6])
def test_degree_is_the_smallest(beta, tail):
    top = legendre.degree(legendre.table(beta, tail).shape[1])
    with mpmath.workdps(40):
        b = mpmath.mpf(beta)
        scale = mpmath.exp(-b) * mpmath.sqrt(mpmath.pi / 2 / b)
        i = [scale * mpmath.besseli(deg + 0.5, b) for deg in range(top - 1, top + 60)]
        a, r = {}, {}
        for deg, (below, here, above) in enumerate(zip(i, i[1:], i[2:], strict=False), start=top):
            a[deg] = (2 * deg + 1) * here
            r[deg] = abs(deg * below + (deg + 1) * above - (2 * deg + 1) * here)

        def beyond(top):
            rest = [deg for deg in a if deg > top]
            slopes = [deg * a[deg] / b for deg in rest]
            return max(sum(a[deg] for deg in rest), sum(slopes), sum(r[deg] for deg in rest))

        assert beyond(top) <= tail < beyond(top - 1)


def test_degree_from_size():
    for top in range(3000):
        assert legendre.degree((top + 1) * (top + 2) // 2) == top


# --- the sums ----------------------------------------------------------------------------


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_sums(name, beta):
    rng = np.random.default_rng(1)
    x = tokens(name, rng)
    mass = rng.uniform(0.5, 2.0, N)
    far = unit(rng.standard_normal((40, 3)))
    far[:2] = [[0, 0, 1], [0, 0, -1]]
    sums = Sums(beta).add(x, mass)
    for at in (x, far):
        found = errors(sums.at(at), direct(x, mass, at, beta))
        assert max(found) <= 1e-13 * np.sum(mass), found


def test_ranges():
    rng = np.random.default_rng(2)
    x, mass = tokens("random", rng), rng.uniform(0.5, 2.0, N)
    sums = Sums(9.0).add(x, mass, 7, 8).add(x, mass, 20, 20).add(x, mass, 37, 289, fold=True)
    chosen = np.r_[7, 37:289]
    expected = direct(x[chosen], mass[chosen], x[5:131], 9.0)
    assert max(errors(sums.at(x, 5, 131), expected)) <= 1e-13 * np.sum(mass)
    # A token's sums do not depend on the tokens it is taken together with.
    together = [sums.at(x, 100, 150), [v[50:] for v in sums.at(x, 50, 150)]]
    for one, other in zip(*together, strict=True):
        np.testing.assert_array_equal(one, other)


def test_one_degree():
    """A table of a single degree or two has no room for vectors of four."""
    for tail in (0.5, 1e-2, 1e-4):
        x = tokens("random", np.random.default_rng(3))
        found = Sums(1e-2, tail).add(x, np.ones(N)).at(x)
        expected = direct(x, np.ones(N), x, 1e-2)
        assert max(errors(found[:3], expected[:3])) <= tail * N + 1e-13 * N


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_changes(name, beta):
    """The change of the sums at fixed places, against the definition and differences."""
    rng = np.random.default_rng(4)
    x = tokens(name, rng)
    u = rng.standard_normal((N, 3))
    u -= np.sum(u * x, axis=1, keepdims=True) * x
    rows = np.full((3, N + 5), np.nan)
    rows[:, :N] = u.T
    lo, hi = 3, 277
    at = np.concatenate([x[:20], unit(rng.standard_normal((20, 3)))])
    found = Sums(beta).change(x, rows, lo, hi).at(at)[:3]

    delta = (x[None] - at[:, None])[:, lo:hi]
    less = -np.sum(delta**2, axis=-1) / 2
    w = np.exp(beta * less)
    rate = at @ u[lo:hi].T  # of t
    dw = beta * w * rate
    tangent = delta - less[..., None] * at[:, None]
    step = u[None, lo:hi] - rate[..., None] * at[:, None]
    expected = (
        np.sum(dw, axis=1),
        np.sum(dw * less + w * rate, axis=1),
        np.sum(dw[..., None] * tangent + w[..., None] * step, axis=1),
    )
    assert max(errors(found, expected)) <= 1e-13 * max(1.0, beta) ** 0.5 * np.sum(np.abs(u))

    h = 1e-4 / max(1.0, beta) ** 0.5
    ends = []
    for sign in (1, -1):
        moved = unit(x + sign * h * u)
        ends.append(Sums(beta).add(moved, np.ones(N), lo, hi).at(at)[:3])
    slopes = [(a - b) / (2 * h) for a, b in zip(*ends, strict=True)]
    assert max(errors(found, slopes)) <= 1e-6 * max(1.0, beta) ** 0.5 * N


# --- rounding ----------------------------------------------------------------------------


def test_heavy_cluster():
    """Compensation: what 1e5 tokens in a point leave at places that they do not reach."""
    rng = np.random.default_rng(5)
    x = unit(unit([0.3, -0.5, 0.7]) + 1e-3 * rng.standard_normal((100_000, 3)))
    mass = np.ones(len(x))
    far = unit([-0.3, 0.5, -0.7] + 0.5 * rng.standard_normal((64, 3)))
    folded, plain = Sums(64.0), Sums(64.0)
    for lo in range(0, len(x), legendre.CHUNK):
        hi = min(len(x), lo + legendre.CHUNK)
        folded.add(x, mass, lo, hi, fold=True)
        plain.add(x, mass, lo, hi)
    expected = np.sum(np.exp(64.0 * (far @ x.T - 1.0)), axis=1)
    assert np.max(expected) < 1e-3  # so the definition has no error to speak of
    folded, plain = (np.max(np.abs(sums.at(far)[0] - expected)) for sums in (folded, plain))
    print(f"error of W: {folded:.1e} folded, {plain:.1e} not")
    assert folded <= 1e-11


def test_fold_keeps_what_rounding_loses():
    rng = np.random.default_rng(6)
    state = np.zeros((6, 3))
    parts = rng.standard_normal((1000, 2, 3)) * 10.0 ** rng.integers(-12, 6, (1000, 2, 3))
    for part in parts:
        state[4:] = part
        legendre.fold(state)
    assert np.all(state[4:] == 0)
    np.testing.assert_array_equal(state[:2] + state[2:4], state[:2])
    with mpmath.workdps(60):
        for c, i in np.ndindex(2, 3):
            total = mpmath.fsum(mpmath.mpf(v) for v in parts[:, c, i])
            error = mpmath.mpf(state[c, i]) + mpmath.mpf(state[2 + c, i]) - total
            assert abs(error) <= 1000 * EPS**2 * np.sum(np.abs(parts[:, c, i]))
