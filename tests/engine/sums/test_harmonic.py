"""Velocities by sums in linear time are those of direct sums, as precise as they claim to be."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.common import EPS, worst
from support.harmonics import (
    ACCURACY,
    BETAS,
    CONFIGURATIONS,
    lone_pair,
    place,
    series_table,
    size,
    systems,
    values,
    velocity_by_series,
)
from support.marks import betas, both, many, masks
from support.steps import velocity_inside

import parkade as pk
from parkade.engine.flow import linear_time
from parkade.engine.flow.velocity import velocity, velocity_batch
from parkade.engine.sums import harmonic, pairwise
from parkade.engine.sums.running import CHUNK, FOLD, GROUP
from parkade.engine.system import unrolled
from parkade.solve.lower import prepare

# --- velocities --------------------------------------------------------------------------

SIZES = [1, 2, 63, 64, 65, 255, 256, 257, 300]


@both
@masks
@betas
@pytest.mark.parametrize("kind", CONFIGURATIONS)
def test_velocities_are_those_of_direct_sums(kind, beta, mask, d):
    every = ("I", "diag", "random")
    for i, n in enumerate(SIZES):
        x = place(kind, n, d)
        for name in every if n == SIZES[-1] else [every[i % 3]]:
            model = pk.Attention(d, beta, V=values(name, d), mask=mask)
            direct, fast = systems(model, n)
            error = worst(velocity(fast, x), velocity(direct, x))
            assert error <= ACCURACY * size(model.V), (n, name, error)


@both
@masks
@pytest.mark.parametrize(
    ("kind", "beta", "name"),
    [
        ("uniform", 256.0, "I"),
        ("clustered", 64.0, "random"),
        ("adversarial", 64.0, "diag"),
        ("adversarial", 9.0, "I"),
        ("antipodal", 1.0, "random"),
    ],
)
def test_velocities_of_many_tokens_are_those_of_direct_sums(kind, beta, name, mask, d):
    x = place(kind, 5000, d)
    model = pk.Attention(d, beta, V=values(name, d), mask=mask)
    direct, fast = systems(model, len(x))
    assert worst(velocity(fast, x), velocity(direct, x)) <= ACCURACY * size(model.V)


@settings(max_examples=100)
@given(
    d=st.sampled_from([2, 3]),
    n=st.integers(1, 600),
    m=st.sampled_from([0, 0, 1, 5]),
    beta=st.one_of(st.sampled_from(BETAS), st.floats(1e-3, 300)),
    name=st.sampled_from(["I", "diag", "random"]),
    mask=st.sampled_from(["causal", "full"]),
    kind=st.sampled_from(CONFIGURATIONS),
    seed=st.integers(0, 2**32 - 1),
)
@example(2, 600, 5, 300.0, "random", "causal", "adversarial", 1)
@example(3, 600, 5, 300.0, "random", "full", "adversarial", 1)
def test_velocities_of_anything_are_those_of_direct_sums(d, n, m, beta, name, mask, kind, seed):
    x = place(kind, n, d, seed)
    frozen, weights = None, None
    if m:
        frozen = pk.sphere.uniform(m, d, seed=seed)
        weights = np.random.default_rng(seed).uniform(0.5, 20, m)
    model = pk.Attention(d, beta, V=values(name, d), mask=mask)
    direct, fast = systems(model, n, frozen, weights)
    assert worst(velocity(fast, x), velocity(direct, x)) <= ACCURACY * size(model.V)


@both
@masks
@pytest.mark.parametrize(("q", "k"), [(0.5, 2.0), (2.0, 3.0), (-1.0, -4.0)])
def test_multiples_of_the_identity_scale_beta(q, k, mask, d):
    x = place("clustered", 300, d)
    model = pk.Attention(d, 9.0, Q=q * np.eye(d), K=k * np.eye(d), mask=mask)
    _, fast = systems(model, len(x))
    scaled = pk.Attention(d, 9.0 * q * k, mask=mask)
    assert worst(velocity(fast, x), scaled.velocity(x)) <= ACCURACY


@both
@masks
@pytest.mark.parametrize("weight", [1.0, 30.0, 1e6])
@pytest.mark.parametrize("kind", ["uniform", "clustered", "adversarial"])
def test_frozen_tokens_may_be_heavy(kind, weight, mask, d):
    # Mass 1e6 in one place: tokens that do not feel it must not feel its rounding either.
    x = place(kind, 300, d)
    frozen = np.concatenate([-np.eye(d)[:1], pk.sphere.uniform(6, d, seed=5)])
    weights = np.array([weight, 1.0, 2.5, 0.1, 1.0, 7.0, 1.0])
    for beta in (9.0, 64.0):
        for name in ("I", "random"):
            model = pk.Attention(d, beta, V=values(name, d), mask=mask)
            direct, fast = systems(model, len(x), frozen, weights)
            error = worst(velocity(fast, x), velocity(direct, x))
            assert error <= ACCURACY * size(model.V), (beta, name, error)


def sample(n):
    """Tokens to look at: first and last ones, and some between."""
    return np.r_[:20, np.linspace(20, n - 11, 10).astype(int), n - 10 : n]


@pytest.mark.parametrize(
    ("d", "beta", "kind"),
    many(
        [(2, 1.0, "uniform"), (2, 256.0, "adversarial"),
         (3, 9.0, "adversarial"), (3, 64.0, "clustered")],
        list(itertools.product((2, 3), BETAS, ("adversarial", "clustered", "uniform"))),
    ),
)  # fmt: skip
def test_a_hundred_thousand_tokens(d, beta, kind):
    n = 100_000
    x = place(kind, n, d)
    direct, fast = systems(pk.Attention(d, beta), n, accuracy=1e-10)
    result, exact = velocity(fast, x), np.empty_like(x)
    chosen = sample(n)
    for k in chosen:
        pairwise.velocity_rows(direct, unrolled(d), x, k, k + 1, exact)
    assert worst(result[chosen], exact[chosen]) <= 1e-10


@both
def test_a_hundred_thousand_tokens_under_full_attention(d):
    n = 100_000
    x = place("adversarial", n, d)
    direct, fast = systems(pk.Attention(d, 9.0, mask="full"), n, accuracy=1e-10)
    result, exact = velocity(fast, x), np.empty_like(x)
    chosen = sample(n)
    for k in chosen:
        pairwise.velocity_rows(direct, unrolled(d), x, k, k + 1, exact)
    assert worst(result[chosen], exact[chosen]) <= 1e-10


@both
@masks
def test_velocity_is_tangent(mask, d):
    x = place("uniform", 300, d)
    for name in ("I", "diag", "random"):
        model = pk.Attention(d, 9.0, V=values(name, d), mask=mask)
        v = velocity(systems(model, 300)[1], x)
        assert np.abs(np.sum(x * v, axis=1)).max() <= 4 * d * EPS * size(model.V)


# --- what must be precise ----------------------------------------------------------------


def exact_velocity(x, beta, k):
    """The definition with V = I for one token among those before it, in 200 digits."""
    with mpmath.workdps(200):
        rows = [[mpmath.mpf(float(c)) for c in row] for row in x[: k + 1]]
        rows = [[c / mpmath.norm(row) for c in row] for row in rows]
        own = rows[-1]
        weights = [mpmath.exp(beta * (mpmath.fdot(own, row) - 1)) for row in rows]
        pull = [mpmath.fdot(weights, column) for column in zip(*rows, strict=True)]
        along = mpmath.fdot(pull, own)
        total = mpmath.fsum(weights)
        return np.array([float((p - along * c) / total) for p, c in zip(pull, own, strict=True)])


@both
@pytest.mark.parametrize(
    ("beta", "angle", "large", "small"),
    [(64.0, 1.0, 1e-9, 1e-11), (64.0, 2.5, 1e-47, 1e-51), (256.0, 2.0, 1e-140, 1e-160)],
)
def test_a_lone_token_has_its_force_to_all_digits(beta, angle, large, small, d):
    x = lone_pair(d, angle)
    fast = velocity(systems(pk.Attention(d, beta), len(x))[1], x)
    exact = exact_velocity(x, beta, len(x) - 2)
    assert small < np.linalg.norm(exact) < large
    # Scores of up to 2β, each good to a few EPS.
    assert np.linalg.norm(fast[-2] - exact) <= 1e-12 * np.linalg.norm(exact)
    follower = exact_velocity(x, beta, len(x) - 1)
    assert np.linalg.norm(follower) > 0.01
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


# --- the same bits -----------------------------------------------------------------------


@masks
def test_bits_do_not_depend_on_threads_batches_or_engines(mask):
    n = 40_000
    assert n > 2 * GROUP  # or there is nothing to share out
    x = np.stack([place("uniform", n, 2), place("clustered", n, 2)])
    _, fast = systems(pk.Attention(2, 9.0, mask=mask), n)
    serial = np.stack([velocity_by_series(fast, one) for one in x])
    for count in (1, 2, 3):
        assert np.array_equal(velocity(fast, x[0], threads=count), serial[0])
        assert np.array_equal(velocity(fast, x, threads=count), serial)
    batch = np.empty_like(x)
    velocity_batch(fast, unrolled(2), x, batch)
    assert np.array_equal(batch, serial)
    assert np.array_equal(velocity_inside(fast, x[0]), serial[0])


@masks
def test_bits_on_the_sphere_do_not_depend_on_threads_or_engines(mask):
    n = 20_000
    assert n > GROUP
    x = place("clustered", n, 3)
    frozen, weights = place("uniform", 70, 3), np.linspace(1, 5, 70)
    _, fast = systems(pk.Attention(3, 1.0, mask=mask), n, frozen, weights)
    serial = velocity_by_series(fast, x)
    assert np.array_equal(velocity_inside(fast, x), serial)
    for count in (1, 2, 3):
        assert np.array_equal(velocity(fast, x, threads=count), serial)


@both
def test_first_rows_do_not_depend_on_later_tokens(d):
    x = place("clustered", 700, d)
    _, fast = systems(pk.Attention(d, 20.0), len(x))
    whole = velocity(fast, x)
    for cut in (1, CHUNK - 1, CHUNK + 1, FOLD, FOLD + 5, 600):
        assert np.array_equal(velocity(fast, x[:cut]), whole[:cut])
        elsewhere = np.concatenate([x[:cut], -x[cut:]])
        assert np.array_equal(velocity(fast, elsewhere)[:cut], whole[:cut])


def test_the_first_groups_do_not_depend_on_later_tokens():
    x = place("uniform", 40_000, 2)
    _, fast = systems(pk.Attention(2, 9.0), len(x))
    cut = GROUP + 1000
    assert np.array_equal(velocity(fast, x[:cut]), velocity(fast, x)[:cut])


def test_the_error_of_a_run_is_measured_against_direct_sums():
    x = place("uniform", 300, 2)
    direct, fast = systems(pk.Attention(2, 9.0), len(x))
    wrong = fast._replace(table=fast.table * (1 + 1e-3))
    chosen = [0, 17, 150, 299]
    expected = np.abs(velocity(wrong, x) - velocity(direct, x))[chosen].max()
    result = linear_time.error(wrong, unrolled(2), x, chosen)
    assert result == pytest.approx(expected, rel=1e-6)
    assert result > 1e-7
    assert linear_time.error(fast, unrolled(2), x, chosen) <= ACCURACY
