"""Sums by harmonic functions, on the circle and on S², against the definition.

In extended precision where it exists.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.common import EPS
from support.marks import both
from support.running_sums import CONFIGURATIONS, N, Sums, direct, errors, tokens, unit

from parkade.engine.compile.jit import interpreted, njit
from parkade.engine.sums import basis, fourier, legendre
from parkade.engine.sums.running import CHUNK, FOLD, Chunk
from parkade.engine.sums.series import SERIES

BETAS = [0.01, 1.0, 9.0, 64.0, 256.0]


@both
@pytest.mark.parametrize("beta", BETAS)
def test_series_is_the_weight(d, beta):
    angle = np.linspace(0, np.pi, 500)
    x = np.stack([np.sin(angle), 0 * angle, np.cos(angle)], axis=1)
    x = np.ascontiguousarray(x[:, [0, 2]] if d == 2 else x)
    result = Sums(d, beta).add(np.eye(d)[-1:], np.ones(1)).at(x)
    less = -2 * np.sin(angle / 2) ** 2
    assert np.max(np.abs(result[0] - np.exp(beta * less))) <= 1e-13
    assert np.max(np.abs(result[1] - less * np.exp(beta * less))) <= 1e-13


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
    for at in (np.ascontiguousarray(x[::3]), far):
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
        result = Sums(d, 1e-2, tail).add(x, np.ones(N)).at(x)
        expected = direct(x, np.ones(N), x, 1e-2)
        assert max(errors(result, expected[:3])) <= tail * N + 1e-13 * N


@both
@pytest.mark.parametrize("second", [False, True], ids=["far_sums", "far_second"])
@pytest.mark.parametrize("radial", [False, True])
def test_tokens_that_join_are_seen_by_later_ones(d, second, radial):
    """By the next chunk; within a chunk only where the engine does not leave it to the caller."""
    rng = np.random.default_rng(9)
    x = tokens("random", d, rng)
    sums = Sums(d, 9.0)
    chunk = CHUNK
    parts, moments = [], []
    for k in range(0, N, chunk):
        end = min(N, k + chunk)
        out = np.full((chunk, 2 + d), np.nan)
        moment = np.full((chunk, d, d), np.nan)
        if second:
            sums.engine.far_second(sums.running, Chunk(x, k, end), out, moment)
        else:
            sums.engine.far_sums(sums.running, Chunk(x, k, end), out, radial, True, True)
        parts.append(out[: end - k])
        moments.append(moment[: end - k])
        assert np.isnan(out[end - k :]).all()
        assert np.isnan(moment[end - k :]).all()
    out, moment = np.concatenate(parts), np.concatenate(moments)
    for k in range(N):
        seen = k // chunk * chunk if sums.engine.LEAVES_NEAR else k
        expected = direct(x[:seen], np.ones(seen), x[k : k + 1], 9.0)
        got = [out[k : k + 1, 0], out[k : k + 1, 1], out[k : k + 1, 2:], moment[k : k + 1]]
        if d == 2 and not radial and not second:
            got[1] = expected[1]  # not asked for
        assert max(errors(got[: 4 if second else 3], expected[: 4 if second else 3])) <= 1e-13 * N
    # All have joined: the state is that of all tokens.
    everyone = Sums(d, 9.0).add(x, np.ones(N))
    assert np.max(np.abs(sums.state - everyone.state)) <= 1e-13 * N


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
    result = Sums(d, beta).change(x, u.T).at(at)

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
    assert max(errors(result, expected)) <= 1e-13 * max(1.0, beta) ** 0.5 * np.sum(np.abs(u))

    h = 1e-4 / max(1.0, beta) ** 0.5
    ends = []
    for sign in (1, -1):
        moved = unit(x + sign * h * u)
        ends.append(Sums(d, beta).add(moved, np.ones(N), lo, hi).at(at))
    slopes = [(a - b) / (2 * h) for a, b in zip(*ends, strict=True)]
    assert max(errors(result, slopes)) <= 1e-6 * max(1.0, beta) ** 0.5 * N


def test_fourier_is_the_basis_of_the_circle_and_legendre_that_of_the_sphere():
    assert {2: fourier, 3: legendre} == basis.DIMENSIONS
    assert SERIES.keys() == basis.DIMENSIONS.keys()
    assert not fourier.LEAVES_NEAR
    assert legendre.LEAVES_NEAR
    assert FOLD % CHUNK == 0  # so that a fold falls between chunks


@both
def test_compiled_code_has_the_module_of_its_dimension(d):
    choose = basis.basis

    @njit(allocates=True)
    def compiled(dims, table):
        return choose(dims).LEAVES_NEAR, choose(dims).make_scratch(table)

    dims, table = (0,) * d, SERIES[d].table(9.0, 1e-6)
    near, scratch = compiled(dims, table)
    assert near == choose(dims).LEAVES_NEAR
    assert np.array_equal(scratch, interpreted(choose(dims).make_scratch)(table))


def test_both_modules_have_the_same_functions():
    names = ("add_features", "far_changes", "far_second", "far_sums", "make_scratch")
    for name in names:
        codes = [getattr(module, name).py_func.__code__ for module in (fourier, legendre)]
        arguments = {code.co_varnames[: code.co_argcount] for code in codes}
        assert len(arguments) == 1, name
