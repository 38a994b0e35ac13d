"""Velocities by sums in linear time are as precise as they claim to be."""

from __future__ import annotations

import numpy as np
import pytest
from support.common import EPS
from support.hard import exact_velocity
from support.harmonics import ACCURACY, lone_pair, place, series_table, systems, values
from support.marks import betas, both, masks

import parkade as pk
from parkade.engine.flow.velocity import velocity
from parkade.engine.sums import harmonic, pairwise
from parkade.engine.system import unrolled
from parkade.solve.lowering.lower import prepare


def tilted(d, angle):
    """KᵀQ that turns by an angle and stretches a little."""
    turn = np.eye(d)
    turn[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    return turn @ np.diag([1.0] * (d - 1) + [0.9])


@both
@pytest.mark.parametrize(
    ("tilt", "beta", "angle", "large", "small", "pull"),
    [
        (False, 64.0, 1.0, 1e-9, 1e-11, 0.01),
        (False, 64.0, 2.5, 1e-47, 1e-51, 0.01),
        (False, 256.0, 2.0, 1e-140, 1e-160, 0.01),
        (True, 64.0, 1.0, 1e-6, 1e-14, 1e-3),
        (True, 64.0, 2.5, 1e-40, 1e-52, 1e-3),
    ],
)
def test_a_lone_token_has_its_force_to_all_digits(tilt, beta, angle, large, small, pull, d):
    x, model = lone_pair(d, angle), pk.Attention(d, beta, Q=tilted(d, 0.1) if tilt else 1.0)
    fast = velocity(systems(model, len(x))[1], x)
    exact = exact_velocity(model, x[:-1])
    assert small < np.linalg.norm(exact) < large
    # Scores of up to 2β, each good to a few EPS.
    assert np.linalg.norm(fast[-2] - exact) <= 1e-12 * np.linalg.norm(exact)
    follower = exact_velocity(model, x)
    assert np.linalg.norm(follower) > pull
    assert np.linalg.norm(fast[-1] - follower) <= ACCURACY


def reference(x, causal, beta, V):
    """The definition in extended precision: velocities, and Σ w of the other tokens."""
    x = x.astype(np.longdouble)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    delta = x[None] - x[:, None]
    weights = np.exp(-beta / 2 * np.einsum("kjc,kjc->kj", delta, delta))
    weights = np.tril(weights, -1) if causal else weights - np.eye(len(x))
    others = np.sum(weights, axis=1, keepdims=True)
    q = (x + np.einsum("kj,kjc->kc", weights, delta) / (1 + others)) @ V.T
    return q - np.sum(x * q, axis=1, keepdims=True) * x, others[:, 0].astype(float)


@both
@masks
@betas
@pytest.mark.parametrize("kind", ["uniform", "clustered", "adversarial"])
def test_errors_are_within_the_estimate(kind, beta, mask, d):
    """`is_lone` relies on ROUNDING · mass / (1 + Σw), so it must hold where nothing else helps."""
    V = values("diag", d)  # of norm 1, and not a multiple of I: the whole mean counts
    causal = mask == "causal"
    for n in (10, 300):
        x = place(kind, n, d, seed=n)
        table = series_table(d, beta, 1e-18)
        model = pk.Attention(d, beta, V=V, mask=mask)
        fast = velocity(prepare(model, table=table, accuracy=np.inf), x)
        exact, others = reference(x, causal, beta, V)
        mass = np.arange(n) if causal else n
        error = np.linalg.norm((fast - exact).astype(float), axis=1)
        # The second term is for the sum of means and x, and its projection.
        assert np.all(error <= harmonic.ROUNDING * mass / (1 + others) + 8 * EPS)


@both
def test_errors_of_large_sums_are_within_the_estimate(d):
    # 3e4 tokens in front of a few that feel little of them, but enough not to be lone.
    n, beta, few = 30_000, 64.0, 30
    rng = np.random.default_rng(7)
    x = place("adversarial", n, d)
    x[-few:] = -np.eye(d)[0] + 0.2 * rng.standard_normal((few, d))
    x = pk.sphere.normalize(x)
    table = series_table(d, beta, 1e-18)
    model = pk.Attention(d, beta)
    fast = velocity(prepare(model, table=table, accuracy=np.inf), x)
    exact = np.empty_like(x)
    pairwise.velocity_rows(prepare(model), unrolled(d), x, n - few, n, exact)
    delta = x[None, -few:] - x[-few:, None]
    weights = np.tril(np.exp(-beta / 2 * np.sum(delta**2, axis=2)), -1)
    others = np.sum(weights, axis=1)
    assert np.sum((others > harmonic.LONE) & (others < 2)) >= 3
    error = np.linalg.norm(fast - exact, axis=1)[-few:]
    assert np.all(error <= harmonic.ROUNDING * n / (1 + others) + 8 * EPS)
    # And it is an estimate of what there is: direct sums are needed for what asks for more.
    assert np.max(error) > 1e-4 * harmonic.ROUNDING * n
    _, careful = systems(model, n, accuracy=1e-14)
    assert np.max(np.linalg.norm(velocity(careful, x) - exact, axis=1)[-few:]) <= 2e-14


@pytest.mark.parametrize(
    ("other", "mass", "accuracy", "lone"),
    [
        (1.0, 1e3, 1e-11, False),
        (0.0, 1e3, 1e-11, True),
        (0.99 * harmonic.LONE, 1.0, 1.0, True),
        (1.01 * harmonic.LONE, 1.0, 1.0, False),
        (-1e-12, 1.0, 1.0, True),  # rounding of nothing
        (np.nan, 1.0, 1.0, True),
        (0.0625, 1e5, 1e-10, True),  # ROUNDING·mass = 1.8e-10
        (2.0, 1e5, 1e-10, False),
    ],
)
def test_who_is_summed_directly(other, mass, accuracy, lone):
    assert harmonic.is_lone(other, mass, accuracy) == lone
