"""Velocities by sums in linear time for any Q and K are those of direct sums."""

from __future__ import annotations

import numpy as np
import pytest
from support.common import EPS, worst
from support.harmonics import (
    ACCURACY,
    CONFIGURATIONS,
    any_queries,
    lengths_table,
    place,
    size,
    systems,
    values,
    velocity_by_series,
)
from support.marks import both, masks
from support.steps import velocity_inside

import parkade as pk
from parkade.engine.flow import linear_time
from parkade.engine.flow.velocity import velocity
from parkade.engine.sums import harmonic, pairwise
from parkade.engine.sums.running import GROUP
from parkade.engine.system import unrolled
from parkade.solve.lowering.lower import prepare

NORMS = {2: [1.0, 9.0, 64.0, 256.0], 3: [1.0, 9.0, 64.0]}
CASES = [(d, norm) for d, norms in NORMS.items() for norm in norms]

cases = pytest.mark.parametrize(("d", "norm"), CASES)


@cases
@masks
@pytest.mark.parametrize("kind", CONFIGURATIONS)
def test_velocities_are_those_of_direct_sums(kind, mask, d, norm):
    for n, name, seed in [(1, "I", 0), (2, "diag", 1), (65, "I", 2), (300, "random", 3)]:
        x = place(kind, n, d)
        model = any_queries(d, norm, seed, V=values(name, d), mask=mask)
        direct, fast = systems(model, n)
        result = velocity_by_series(fast, x)
        error = worst(result, velocity(direct, x))
        assert error <= ACCURACY * size(model.V), (n, name, error)
        assert worst(result, model.velocity(x)) <= 2 * ACCURACY * size(model.V)


def special(d):
    """KᵀQ that are far from random."""
    turn = np.eye(d)
    turn[:2, :2] = [[0.0, -1.0], [1.0, 0.0]]
    row = np.zeros((d, d))
    row[0, 1] = 1.0
    return {
        "negative": -np.eye(d),
        "turn": turn,
        "rank 1": row,
        "stretch": np.diag([1.0] + [1e-3] * (d - 1)),
        "nearly I": np.eye(d) + 1e-12 * row,
    }


@both
@masks
@pytest.mark.parametrize("product", special(2))
def test_special_queries(product, mask, d):
    for kind in ("uniform", "clustered", "one point", "adversarial"):
        x = place(kind, 300, d)
        for beta in (9.0, 64.0):
            model = pk.Attention(d, beta, Q=special(d)[product], mask=mask)
            direct, fast = systems(model, len(x))
            assert fast.lengths is not None
            assert worst(velocity_by_series(fast, x), velocity(direct, x)) <= ACCURACY, (kind, beta)


@both
@masks
def test_multiples_of_the_identity_have_the_velocities_of_their_own_sums(mask, d):
    x = place("clustered", 300, d)
    for beta in (1.0, 9.0, 64.0):
        model = pk.Attention(d, beta, mask=mask)
        _, plain = systems(model, len(x))
        assert plain.lengths is None
        table, lengths = lengths_table(d, beta, beta, harmonic.ROUNDING / 8)
        general = plain._replace(table=table, lengths=lengths)
        assert worst(velocity_by_series(general, x), velocity(plain, x)) <= ACCURACY


@both
@masks
def test_weights_that_would_overflow_are_shifted(mask, d):
    # Own weights of e^{-1200}, which direct sums relative to it cannot have.
    x = place("clustered", 100, d)
    x[:50] *= -1
    model = pk.Attention(d, 600.0, Q=-1.0, mask=mask)
    direct, fast = systems(model, len(x))
    result = velocity_by_series(fast, x)
    assert np.isfinite(result).all()
    assert worst(result, velocity(direct, x)) <= ACCURACY
    alone = place("one point", 100, d)
    alone[0] *= -1  # all others are summed directly: nobody is where their queries point, but one
    assert worst(velocity_by_series(fast, alone), velocity(direct, alone)) <= ACCURACY


@pytest.mark.parametrize(("d", "norm", "kind"), [(2, 64.0, "uniform"), (3, 9.0, "adversarial")])
@masks
def test_many_tokens(d, norm, kind, mask):
    n, few = 30_000, 200
    x, model = place(kind, n, d), any_queries(d, norm, 1, mask=mask)
    direct, fast = systems(model, n, accuracy=1e-10)
    result, exact = velocity_by_series(fast, x), np.empty_like(x)
    pairwise.velocity_rows(direct, unrolled(d), x, n - few, n, exact)
    assert worst(result[-few:], exact[-few:]) <= 1e-10


@cases
@masks
def test_errors_are_within_the_estimate(mask, d, norm):
    """`is_lost` relies on 2 ROUNDING · mass / Z: where nothing but it helps, it must hold."""
    causal, largest = mask == "causal", 0.0
    for kind in ("uniform", "clustered", "adversarial"):
        for seed in range(3):
            n = 400
            x, model = place(kind, n, d, seed), any_queries(d, norm, seed, mask=mask)
            sizes = np.linalg.svd(model.beta * model.product, compute_uv=False)
            table, lengths = lengths_table(d, sizes[-1], sizes[0], 1e-18)
            careless = prepare(model, table=table, lengths=lengths, accuracy=np.inf)
            fast, exact = velocity_by_series(careless, x), velocity(prepare(model), x)
            a = model.beta * x @ model.product.T
            weights = np.exp(a @ x.T - np.linalg.norm(a, axis=1, keepdims=True))
            own = np.diag(weights).copy()
            Z = np.sum(np.tril(weights) if causal else weights, axis=1)
            mass = np.arange(n) if causal else np.full(n, n)
            # Those that are not lone, and whose harmonic sums have any digits at all.
            seen = (Z - own >= harmonic.LONE * own) & (1e3 * EPS * mass < Z) & (mass > 0)
            error = np.linalg.norm(fast - exact, axis=1)[seen]
            bound = 2 * harmonic.ROUNDING * mass[seen] / Z[seen] + (16 + norm) * EPS
            assert np.all(error <= bound), np.max(error / bound)
            largest = max(largest, np.max(error / bound))
    assert largest > 1e-4  # and it is an estimate of what there is


@masks
def test_bits_do_not_depend_on_threads_or_engines(mask):
    n = 20_000
    assert n > GROUP  # or there is nothing to share out
    x = np.stack([place("uniform", n, 2), place("clustered", n, 2)])
    _, fast = systems(any_queries(2, 9.0, mask=mask), n)
    serial = np.stack([velocity_by_series(fast, one) for one in x])
    for count in (1, 3):
        assert np.array_equal(velocity(fast, x[0], threads=count), serial[0])
        assert np.array_equal(velocity(fast, x, threads=count), serial)
    assert np.array_equal(velocity_inside(fast, x[0]), serial[0])


@both
def test_tokens_that_are_not_numbers_are_reported_as_such(d):
    x = place("uniform", 100, d)
    _, fast = systems(any_queries(d, 9.0), len(x))
    x[50] = np.nan
    result = velocity_by_series(fast, x)
    assert np.isfinite(result[:50]).all()
    assert np.isnan(result[50:]).all()


@both
def test_modules_are_chosen_by_the_lengths(d):
    _, plain = systems(pk.Attention(d, 9.0), 10)
    _, general = systems(any_queries(d, 9.0), 10)
    names = [
        module.__name__.rpartition(".")[2]
        for system in (plain, general)
        for module in (linear_time.sums(system), linear_time.jacobians(system))
    ]
    assert names == ["harmonic", "harmonic_linear", "general", "general_linear"]
