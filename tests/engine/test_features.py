"""Sums by harmonic functions, on the circle and on S², against the definition.

In extended precision where it exists.
"""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from support.common import EPS

from parkade.engine import fourier, harmonic, legendre

BETAS = [0.01, 1.0, 9.0, 64.0, 256.0]
N = 300
ENGINES = {2: fourier, 3: legendre}

both = pytest.mark.parametrize("d", [2, 3])


def unit(v):
    return np.ascontiguousarray(v / np.linalg.norm(v, axis=-1, keepdims=True))


def tokens(name, d, rng):
    """N tokens: in the same place, spread, or where the coordinates are singular."""
    x = rng.standard_normal((N, d))
    pole = np.eye(d)[-1]
    if name == "cluster":
        x = unit([0.3, -0.5, 0.7][:d]) + 1e-9 * x
    elif name == "near a pole":
        x = pole + 0.01 * x
    elif name == "poles":
        x[: N // 3] = pole
        x[N // 3 : 2 * N // 3] = -pole
    elif name == "antipodal":
        x[N // 2 :] = -x[: N // 2]
    elif name == "equator":
        x[:, -1] = 0.0
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

    def __init__(self, d, beta, tail=1e-15):
        self.d, self.engine = d, ENGINES[d]
        self.table = self.engine.table(beta, tail)
        self.scratch = self.engine.make_scratch(self.table)
        self.state = np.zeros((4, self.table.shape[1]))

    def add(self, x, mass, lo=0, hi=None):
        hi = len(x) if hi is None else hi
        self.engine.add_features(self.table, x, mass, lo, hi, self.scratch, self.state)
        return self

    def change(self, x, u):
        """Enter the changes of all tokens, (d, n), which a last token of no weight completes."""
        step = legendre.CHUNK if self.engine.leaves_near() else 1
        total = -(-len(x) // step) * step + 1
        longer = np.concatenate([x, np.repeat(x[-1:], total - len(x), axis=0)])
        moves = np.zeros((self.d, total))
        moves[:, : len(x)] = u
        out = np.empty((step, 2 + self.d))
        for k in range(0, total, step):
            end = min(total, k + step)
            self.engine.far_changes(
                self.table, longer, moves, k, end, self.scratch, self.state, out, True
            )
        return self

    def at(self, x, lo=0, hi=None):
        """W, R and N at some tokens, none of which joins."""
        found = []
        hi = len(x) if hi is None else hi
        before = self.state.copy()
        for k in range(lo, hi, legendre.CHUNK):
            end = min(hi, k + legendre.CHUNK)
            out = np.full((legendre.CHUNK, 2 + self.d), np.nan)
            arguments = self.table, x, k, end, self.scratch, self.state, out, True, False, True
            self.engine.far_sums(*arguments)
            assert np.isnan(out[end - k :]).all()
            found.append(out[: end - k])
        assert np.array_equal(self.state, before)
        found = np.concatenate(found)
        return found[:, 0], found[:, 1], found[:, 2:]

    def second_at(self, x):
        """W, R, N and S at tokens taken one by one, each of which is made to leave again."""
        outs, seconds = np.empty((len(x), 2 + self.d)), np.empty((len(x), self.d, self.d))
        out, second = np.empty((1, 2 + self.d)), np.empty((1, self.d, self.d))
        before = self.state.copy()
        for k in range(len(x)):
            arguments = self.table, x, k, k + 1, self.scratch, self.state, out, second
            self.engine.far_second(*arguments)
            self.state[:] = before
            outs[k], seconds[k] = out[0], second[0]
        return outs[:, 0], outs[:, 1], outs[:, 2:], seconds


def errors(got, expected):
    return [float(np.max(np.abs(g - e))) for g, e in zip(got, expected, strict=True)]


# --- the tables --------------------------------------------------------------------------


@both
@pytest.mark.parametrize("beta", BETAS)
def test_series_is_the_weight(d, beta):
    angle = np.linspace(0, np.pi, 500)
    x = np.stack([np.sin(angle), 0 * angle, np.cos(angle)], axis=1)
    x = np.ascontiguousarray(x[:, [0, 2]] if d == 2 else x)
    found = Sums(d, beta).add(np.eye(d)[-1:], np.ones(1)).at(x)
    less = -2 * np.sin(angle / 2) ** 2
    assert np.max(np.abs(found[0] - np.exp(beta * less))) <= 1e-13
    assert np.max(np.abs(found[1] - less * np.exp(beta * less))) <= 1e-13


@pytest.mark.parametrize("beta", [1e-3, 1.0, 64.0, 1e4])
def test_fourier_coefficients_are_bessel_functions(beta):
    table = fourier.table(beta, 1e-15)
    count = table.shape[1]
    assert table.shape[0] == 6
    assert count % fourier.LANES == 0
    assert np.array_equal(table[5], np.arange(count))
    with mpmath.workdps(40):
        b = mpmath.mpf(beta)

        def c(m):
            return mpmath.exp(-b) * mpmath.besseli(abs(m), b)

        def sine(m):  # Δ ↦ w sin Δ = Σ_m (c_{m−1} − c_{m+1}) sin mΔ
            return (c(m - 1) - c(m + 1)) / 2

        for m in sorted({0, 1, 2, 3, count // 2, count - 1}):
            exact = (
                c(m),
                sine(m),
                (c(m - 1) + c(m + 1)) / 2 - c(m),
                c(m) / 2 - (c(m - 2) + c(m + 2)) / 4,
                (sine(m - 1) + sine(m + 1)) / 2 - sine(m),
            )
            for i, (row, value) in enumerate(zip(table, exact, strict=False)):
                if m == 0 and i in (1, 4):  # of sin 0Δ = 0: of no account
                    continue
                # Differences of numbers of the size of c(0), which SciPy gives to some EPS.
                error = abs(row[m] - (2 if m else 1) * value)
                assert error <= 16 * EPS * c(0), (m, error)
            # c itself keeps its digits, however small.
            assert abs(table[0, m] / ((2 if m else 1) * c(m)) - 1) <= 1e-13


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("tail", [1e-15, 1e-6])
def test_fourier_leaves_out_no_more_than_it_may(beta, tail):
    count = fourier.table(beta, tail).shape[1]
    with mpmath.workdps(40):
        b = mpmath.mpf(beta)
        c = [mpmath.exp(-b) * mpmath.besseli(m, b) for m in range(count + 80)]

        def left(first):
            """The largest of what the series lack from mode `first` on."""
            rows = [[], [], [], [], []]
            for m in range(first, len(c) - 3):
                around = {i: c[abs(m + i)] for i in range(-2, 3)}
                sine = {i: (m + i) * around[i] / b for i in (-1, 0, 1)}
                even = (around[-1] + around[1]) / 2 - around[0]
                square = around[0] / 2 - (around[-2] + around[2]) / 4
                odd = (sine[-1] + sine[1]) / 2 - sine[0]
                for row, value in zip(rows, (around[0], sine[0], even, square, odd), strict=True):
                    row.append(abs(2 * value))
            return max(sum(row) for row in rows)

        # Sums of 80 numbers, rounded.
        assert left(count) <= tail * (1 + 1e-9) + 1e-18
        if count > fourier.LANES:
            assert left(count - fourier.LANES) > tail * (1 - 1e-9) - 1e-18


@pytest.mark.parametrize("beta", [1e-3, 1.0, 64.0, 1e4])
def test_legendre_coefficients_have_all_digits(beta):
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
def test_legendre_degree_is_the_smallest(beta, tail):
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


def test_legendre_degree_from_size():
    for top in range(3000):
        assert legendre.degree((top + 1) * (top + 2) // 2) == top


# --- the sums ----------------------------------------------------------------------------


@both
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_sums(name, beta, d):
    rng = np.random.default_rng(1)
    x = tokens(name, d, rng)
    mass = rng.uniform(0.5, 2.0, N)
    far = unit(rng.standard_normal((40, d)))
    far[:2] = np.eye(d)[-1], -np.eye(d)[-1]
    sums = Sums(d, beta).add(x, mass)
    for at in (x, far):
        expected = direct(x, mass, at, beta)
        *first, second = errors(sums.second_at(at), expected)
        first += errors(sums.at(at), expected[:3])
        # A score of up to β is good to some EPS, so a weight is good to some β·EPS.
        assert max(first) <= (8 + beta / 3) * EPS * np.sum(mass), first
        # On the sphere second moments are divided by β², which may be small.
        assert second <= 1e-13 * np.sum(mass), second


@both
def test_the_parts_of_a_state_are_summed_together(d):
    # Tokens in the base, in the local sums, or half in each: the same but for rounding.
    rng = np.random.default_rng(8)
    x, mass = tokens("random", d, rng), np.ones(N)
    sums = Sums(d, 9.0).add(x, mass, 0, 100)
    sums.state[:2], sums.state[2:] = sums.state[2:].copy(), 0.0
    sums.add(x, mass, 100)
    assert sums.state[:2].any()
    assert max(errors(sums.at(x), direct(x, mass, x, 9.0)[:3])) <= 1e-13 * N


@both
def test_ranges(d):
    rng = np.random.default_rng(2)
    x, mass = tokens("random", d, rng), rng.uniform(0.5, 2.0, N)
    sums = Sums(d, 9.0).add(x, mass, 7, 8).add(x, mass, 20, 20).add(x, mass, 37, 289)
    chosen = np.r_[7, 37:289]
    expected = direct(x[chosen], mass[chosen], x[5:131], 9.0)[:3]
    assert max(errors(sums.at(x, 5, 131), expected)) <= 1e-13 * np.sum(mass)
    # A token's sums do not depend on the tokens it is taken together with.
    together = [sums.at(x, 100, 150), [v[50:] for v in sums.at(x, 50, 150)]]
    for one, other in zip(*together, strict=True):
        np.testing.assert_array_equal(one, other)


@both
def test_a_few_modes(d):
    """A table of a single degree or two has no room for vectors; one of `fourier` is padded."""
    for tail in (0.5, 1e-2, 1e-4):
        x = tokens("random", d, np.random.default_rng(3))
        found = Sums(d, 1e-2, tail).add(x, np.ones(N)).at(x)
        expected = direct(x, np.ones(N), x, 1e-2)
        assert max(errors(found, expected[:3])) <= tail * N + 1e-13 * N


@both
@pytest.mark.parametrize("second", [False, True], ids=["far_sums", "far_second"])
@pytest.mark.parametrize("radial", [False, True])
def test_tokens_that_join_are_seen_by_later_ones(d, second, radial):
    """By the next chunk; within a chunk only where the engine does not leave it to the caller."""
    rng = np.random.default_rng(9)
    x = tokens("random", d, rng)
    sums = Sums(d, 9.0)
    chunk = legendre.CHUNK
    parts, moments = [], []
    for k in range(0, N, chunk):
        end = min(N, k + chunk)
        out = np.full((chunk, 2 + d), np.nan)
        moment = np.full((chunk, d, d), np.nan)
        common = sums.table, x, k, end, sums.scratch, sums.state
        if second:
            sums.engine.far_second(*common, out, moment)
        else:
            sums.engine.far_sums(*common, out, radial, True, True)
        parts.append(out[: end - k])
        moments.append(moment[: end - k])
        assert np.isnan(out[end - k :]).all()
        assert np.isnan(moment[end - k :]).all()
    out, moment = np.concatenate(parts), np.concatenate(moments)
    for k in range(N):
        seen = k // chunk * chunk if sums.engine.leaves_near() else k
        expected = direct(x[:seen], np.ones(seen), x[k : k + 1], 9.0)
        got = [out[k : k + 1, 0], out[k : k + 1, 1], out[k : k + 1, 2:], moment[k : k + 1]]
        if d == 2 and not radial and not second:
            got[1] = expected[1]  # not asked for
        assert max(errors(got[: 4 if second else 3], expected[: 4 if second else 3])) <= 1e-13 * N
    # All have joined: the state is that of all tokens.
    everyone = Sums(d, 9.0).add(x, np.ones(N))
    assert np.max(np.abs(sums.state - everyone.state)) <= 1e-13 * N


def test_fourier_leaves_out_what_nobody_asks_for():
    x = tokens("random", 2, np.random.default_rng(10))
    sums = Sums(2, 9.0).add(x, np.ones(N))
    sums.scratch[2] = 0.0
    out = np.full((1, 4), np.nan)
    fourier.far_sums(sums.table, x, 0, 1, sums.scratch, sums.state, out, False, True, True)
    assert out[0, 1] == 0.0


@both
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_changes(name, beta, d):
    """The change of the sums at fixed places, against the definition and differences."""
    rng = np.random.default_rng(4)
    x = tokens(name, d, rng)
    u = rng.standard_normal((N, d))
    u -= np.sum(u * x, axis=1, keepdims=True) * x
    lo, hi = 3, 277
    u[:lo], u[hi:] = 0.0, 0.0
    at = np.concatenate([x[:20], unit(rng.standard_normal((20, d)))])
    found = Sums(d, beta).change(x, u.T).at(at)

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
        ends.append(Sums(d, beta).add(moved, np.ones(N), lo, hi).at(at))
    slopes = [(a - b) / (2 * h) for a, b in zip(*ends, strict=True)]
    assert max(errors(found, slopes)) <= 1e-6 * max(1.0, beta) ** 0.5 * N


# --- rounding ----------------------------------------------------------------------------


@both
def test_heavy_cluster(d):
    """Compensation: what 1e5 tokens in a point leave at places that they do not reach."""
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
        harmonic.fold(folded.state, ledger)
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
        harmonic.fold(state, ledger)
        assert not state[2:].any()
        if i % 100 == 99:
            harmonic.close_group(ledger)
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


def test_fourier_is_the_engine_of_the_circle_and_legendre_that_of_the_sphere():
    from parkade.engine.features import CHUNK, DIMENSIONS

    assert DIMENSIONS == ENGINES
    assert CHUNK >= legendre.CHUNK
    assert not fourier.leaves_near()
    assert legendre.leaves_near()
    assert harmonic.FOLD % CHUNK == 0  # so that a fold falls between chunks
