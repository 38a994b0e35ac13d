"""Sums at queries of any direction and length, against the definition in extended precision."""

from __future__ import annotations

import numpy as np
import pytest
from support.common import EPS
from support.harmonics import any_queries, systems
from support.marks import both
from support.query_sums import At, no_queries
from support.running_sums import CONFIGURATIONS, N, errors, tokens, unit

from parkade.engine.compile.simd import MAX_SCORE
from parkade.engine.sums import harmonic, queries
from parkade.engine.sums.running import CHUNK, Chunk
from parkade.engine.system import LOG2E, unrolled

LENGTHS = [0.02, 1.0, 9.0, 64.0]


def asked(system, x):
    """Directions and lengths of queries in extended precision."""
    a = x.astype(np.longdouble) @ (system.query / LOG2E).T
    length = np.linalg.norm(a, axis=1)
    return a / length[:, None], length


def defined(x, mass, y, r):
    """Σ w, Σ w (t − 1), Σ w (x_j − t y) and Σ w (x_j − y)(x_j − y)ᵀ."""
    x = x.astype(np.longdouble)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    delta = x[None] - y[:, None]
    less = -np.sum(delta**2, axis=-1) / 2
    w = mass * np.exp(r[:, None] * less)
    tangent = delta - less[..., None] * y[:, None]
    return (
        np.sum(w, axis=1),
        np.sum(w * less, axis=1),
        np.sum(w[..., None] * tangent, axis=1),
        np.einsum("kj,kja,kjb->kab", w, delta, delta),
    )


@both
@pytest.mark.parametrize("norm", LENGTHS)
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_sums(name, norm, d):
    rng = np.random.default_rng(1)
    x, mass = tokens(name, d, rng), rng.uniform(0.5, 2.0, N)
    sums = At(d, norm).add(x, mass)
    for at in (np.ascontiguousarray(x[::3]), unit(rng.standard_normal((40, d)))):
        y, r = asked(sums.system, at)
        expected = defined(x, mass, y, r)
        *first, second = errors(sums.second(at), expected)
        first += errors(sums.first(at), expected[:3])
        # A score of up to r is good to some EPS, so a weight is good to some r·EPS.
        assert max(first) <= (8 + norm / 3) * EPS * np.sum(mass), first
        # On the sphere second moments are divided by the length, which may be small.
        least = float(r.min()) if d == 3 else 1.0
        assert second <= 4e-14 / min(1.0, least) * np.sum(mass), second


@both
@pytest.mark.parametrize("norm", [1.0, 9.0, 64.0])
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_changes(name, norm, d):
    rng = np.random.default_rng(4)
    x = tokens(name, d, rng)[:257]
    u = rng.standard_normal(x.shape)
    u -= np.sum(u * x, axis=1, keepdims=True) * x
    sums, step = At(d, norm), CHUNK if d == 3 else 1
    changes = []
    for k in range(0, 257, step):
        out = np.empty((step, 2 + d))
        end = min(257, k + step)
        sums.set(x, k, end)
        moved = np.ascontiguousarray(u.T)
        moved[:, k:] = np.nan  # nobody may look ahead
        chunk = Chunk(x, k, end)
        sums.engine.far_changes(sums.running, sums.series, sums.queries, chunk, moved, out)
        changes.append(out[: end - k])
    changes = np.concatenate(changes)
    y, r = asked(sums.system, x)
    for k in range(257):
        before = k // step * step
        delta = x[:before] - y[k]
        less = -np.sum(delta**2, axis=1) / 2
        w, rate = np.exp(r[k] * less), u[:before] @ y[k]  # of t
        dw = r[k] * w * rate
        mean = np.sum(dw[:, None] * delta + w[:, None] * u[:before], axis=0)
        assert abs(changes[k, 0] - np.sum(dw)) <= 1e-13 * norm**0.5 * N
        assert np.abs(changes[k, 2:] + changes[k, 1] * y[k] - mean).max() <= 1e-13 * norm**0.5 * N


@both
def test_queries_are_what_they_claim(d):
    model = any_queries(d, 9.0)
    x = tokens("random", d, np.random.default_rng(2))
    queried, system = no_queries(d), systems(model, N)[1]
    queries.set_queries(system, unrolled(d), x, 3, 40, queried)
    a = x[3:40] @ (model.beta * model.product).T
    length = np.linalg.norm(a, axis=1)
    np.testing.assert_allclose(queried.vectors[:37], LOG2E * a, atol=1e-14)
    np.testing.assert_allclose(queried.directions[:37], a / length[:, None], atol=1e-15)
    np.testing.assert_allclose(queried.sizes[0, :37], length, rtol=1e-15)
    own = np.exp(np.sum(a * x[3:40], axis=1) - length)
    np.testing.assert_allclose(queried.sizes[2, :37], own, rtol=1e-13)


def test_a_query_of_length_zero_points_at_its_token():
    system = systems(any_queries(2, 9.0), N)[1]._replace(query=np.zeros((2, 2)))
    queried, x = no_queries(2), np.array([[0.6, 0.8]])
    queries.set_queries(system, unrolled(2), x, 0, 1, queried)
    assert np.array_equal(queried.directions[0], x[0])
    assert queried.sizes[:, 0].tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("other", "own", "mass", "accuracy", "lost"),
    [
        (1.0, 1.0, 1e3, 1e-11, False),
        (0.0, 1.0, 1e3, 1e-11, True),
        (0.99 * harmonic.LONE, 1.0, 1.0, 1.0, True),
        (1.01 * harmonic.LONE, 1.0, 1.0, 1.0, False),
        (1.0, 1e-300, 1e3, 1e-11, False),
        (1e-3, 1e-3, 1.0, 1e-11, False),
        (1e-4, 1e-4, 1e4, 1e-11, True),  # 2·ROUNDING·mass = 3.6e-11
        (1e-20, 0.0, 1.0, 1e-11, True),
        (-1e-20, 0.0, 1.0, 1.0, True),
        (np.nan, 1.0, 1.0, 1.0, True),
    ],
)
def test_who_is_summed_directly(other, own, mass, accuracy, lost):
    assert queries.is_lost(other, own, mass, accuracy) == lost


def test_a_shift_is_the_largest_score_of_others():
    x = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [-0.6, 0.8]])
    keys = queries.Places(np.ascontiguousarray(x.T), np.empty(0))
    fixed = queries.Places(np.array([[-0.8], [0.6]]), np.ones(1))
    nobody = queries.Places(np.empty((2, 0)), np.empty(0))
    far = queries.Ask(np.array([-1000.0, 0.0]), x[0], 2 * MAX_SCORE)
    assert queries.safe_shift(keys, nobody, far, 4, 0) == 2000.0
    assert queries.safe_shift(keys, nobody, far, 4, 1) == 1600.0
    assert queries.safe_shift(keys, nobody, far, 1, 0) == 0.0
    assert queries.safe_shift(keys, fixed, far, 1, 0) == 1800.0
    assert queries.safe_shift(keys, fixed, far._replace(shift=MAX_SCORE), 4, 0) == 0.0
