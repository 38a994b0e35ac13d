"""Velocities by sums in linear time are those of direct sums, as precise as they claim to be."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.common import EPS, worst
from support.harmonics import (
    ACCURACY,
    BETAS,
    CONFIGURATIONS,
    any_queries,
    place,
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
from parkade.engine.sums import pairwise
from parkade.engine.sums.running import CHUNK, FOLD, GROUP
from parkade.engine.system import unrolled


def attention(family, d, norm, seed=0, **options):
    """A model with β = `norm` and Q = K = I, or with any Q and K and β|KᵀQ| = `norm`."""
    if family == "I":
        return pk.Attention(d, norm, **options)
    return any_queries(d, norm, seed, **options)


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


ANYTHING = {
    "d": st.sampled_from([2, 3]),
    "n": st.integers(1, 600),
    "m": st.sampled_from([0, 0, 1, 5]),
    "name": st.sampled_from(["I", "diag", "random"]),
    "mask": st.sampled_from(["causal", "full"]),
    "kind": st.sampled_from(CONFIGURATIONS),
    "seed": st.integers(0, 2**32 - 1),
}
WORST = {"n": 600, "m": 5, "name": "random", "kind": "adversarial", "seed": 1}


def check_anything(family, norm, d, n, m, name, mask, kind, seed):
    x = place(kind, n, d, seed)
    frozen, weights = None, None
    if m:
        frozen = pk.sphere.uniform(m, d, seed=seed)
        weights = np.random.default_rng(seed).uniform(0.5, 20, m)
    model = attention(family, d, norm, seed, V=values(name, d), mask=mask)
    direct, fast = systems(model, n, frozen, weights)
    assert worst(velocity(fast, x), velocity(direct, x)) <= ACCURACY * size(model.V)


@settings(max_examples=100)
@given(norm=st.one_of(st.sampled_from(BETAS), st.floats(1e-3, 300)), **ANYTHING)
@example(norm=300.0, d=2, mask="causal", **WORST)
@example(norm=300.0, d=3, mask="full", **WORST)
def test_velocities_of_anything_are_those_of_direct_sums(**case):
    check_anything("I", **case)


@settings(max_examples=many(12, 200))
@given(norm=st.floats(1e-3, 100), **ANYTHING)
@example(norm=300.0, d=2, mask="causal", **WORST)
@example(norm=100.0, d=3, mask="full", **WORST)
def test_velocities_with_any_queries_are_those_of_direct_sums(**case):
    check_anything("any", **case)


@both
@masks
@pytest.mark.parametrize(("q", "k"), [(0.5, 2.0), (2.0, 3.0), (-1.0, -4.0)])
def test_multiples_of_the_identity_scale_beta(q, k, mask, d):
    x = place("clustered", 300, d)
    model = pk.Attention(d, 9.0, Q=q * np.eye(d), K=k * np.eye(d), mask=mask)
    _, fast = systems(model, len(x))
    scaled = pk.Attention(d, 9.0 * q * k, mask=mask)
    assert worst(velocity(fast, x), scaled.velocity(x)) <= ACCURACY


HEAVY = [("I", beta, name, 0) for beta in (9.0, 64.0) for name in ("I", "random")]
HEAVY += [("any", 30.0, "random", seed) for seed in range(many(1, 3))]


@both
@masks
@pytest.mark.parametrize("weight", [1.0, 30.0, 1e6])
@pytest.mark.parametrize("kind", ["uniform", "clustered", "adversarial"])
def test_frozen_tokens_may_be_heavy(kind, weight, mask, d):
    # Mass 1e6 in one place: tokens that do not feel it must not feel its rounding either.
    x = place(kind, 300, d)
    frozen = np.concatenate([-np.eye(d)[:1], pk.sphere.uniform(6, d, seed=5)])
    weights = np.array([weight, 1.0, 2.5, 0.1, 1.0, 7.0, 1.0])
    for family, norm, name, seed in HEAVY:
        model = attention(family, d, norm, seed, V=values(name, d), mask=mask)
        direct, fast = systems(model, len(x), frozen, weights)
        error = worst(velocity(fast, x), velocity(direct, x))
        assert error <= ACCURACY * size(model.V), (family, norm, name, error)


def sample(n):
    """Tokens to look at: first and last ones, and some between."""
    return np.r_[:20, np.linspace(20, n - 11, 10).astype(int), n - 10 : n]


HUNDRED_THOUSAND = many(
    [
        (2, 1.0, "uniform"),
        (2, 256.0, "adversarial"),
        (3, 9.0, "adversarial"),
        (3, 64.0, "clustered"),
    ],
    list(itertools.product((2, 3), BETAS, ("adversarial", "clustered", "uniform"))),
)


@pytest.mark.parametrize(
    ("d", "beta", "kind", "mask"),
    [(*case, "causal") for case in HUNDRED_THOUSAND]
    + [(d, 9.0, "adversarial", "full") for d in (2, 3)],
)
def test_a_hundred_thousand_tokens(d, beta, kind, mask):
    n = 100_000
    x = place(kind, n, d)
    direct, fast = systems(pk.Attention(d, beta, mask=mask), n, accuracy=1e-10)
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
@pytest.mark.parametrize("family", ["I", "any"])
def test_first_rows_do_not_depend_on_later_tokens(family, d):
    x = place("clustered", 700, d)
    _, fast = systems(attention(family, d, 20.0), len(x))
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
