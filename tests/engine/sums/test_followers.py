"""Followers that are counted, against the same tokens one by one at the places of their leaders."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from support.common import random_model
from support.crowds import Crowd, random_leaders
from support.harmonics import any_queries, place, systems, values
from support.jacobians import assert_solves, chart_field, finite_differences
from support.marks import both
from support.steps import implicit_step, memory, room, velocity_inside

import parkade as pk
from parkade.engine.compile import threads
from parkade.engine.steps import stages
from parkade.engine.steps.clock import STEP
from parkade.engine.steps.implicit import IMPLICIT
from parkade.engine.steps.integrator import Goal
from parkade.engine.steps.stages import BLOCK
from parkade.engine.sums.running import GROUP
from parkade.engine.system import unrolled
from parkade.solve.lowering.lower import prepare

held_or_free = pytest.mark.parametrize("held", [False, True], ids=["free", "frozen"])


def held_tokens(held, d):
    """Frozen tokens and their weights, or none."""
    return (pk.sphere.uniform(3, d, seed=3), np.array([1.0, 2.5, 40.0])) if held else ()


def models(d):
    """Models with matrices that are all multiples of I, and with any matrices."""
    return pk.Attention(d, 9.0), random_model(d, 3.0, seed=d), random_model(d, 1000.0, seed=d)


def agree(one, other, error=1e-12):
    """Whether arrays agree, relative to the largest number in them."""
    assert np.abs(one).max() > 0.0
    return np.abs(one - other).max() <= error * np.abs(one).max()


def check_reduced(crowd, whole, x, error, parts=("velocity", "mean", "blocks")):
    """Compare what is known of the moving tokens with the same tokens among all of them."""
    moving, reduced = crowd.moving, crowd.reduced(whole)
    everyone = implicit_step(whole, x[crowd.rows], 1.0).lin
    alone = implicit_step(reduced, x, 1.0).lin
    for part in parts:
        assert agree(getattr(everyone, part)[moving], getattr(alone, part), error), part
    plain = implicit_step(whole, x, 1.0).lin  # followers do matter
    assert not agree(plain.velocity, alone.velocity, 1e-6)
    explicit = velocity_inside(whole, x[crowd.rows])[moving]
    assert agree(explicit, velocity_inside(reduced, x), error)


@pytest.mark.parametrize("d", [2, 3, 5, 9])
@held_or_free
def test_direct_sums_over_followers(held, d):
    """Tiles, and products of BLAS for d = 9; large scores are shifted."""
    for model in models(d):
        crowd = Crowd(model, random_leaders(150, 37, 18, seed=d))
        x = pk.sphere.uniform(37, d, seed=d)
        check_reduced(crowd, prepare(model, *held_tokens(held, d)), x, 1e-12)


@both
@held_or_free
@pytest.mark.parametrize("kind", ["uniform", "adversarial"])
@pytest.mark.parametrize("family", ["I", "any"])
def test_harmonic_sums_over_followers(family, kind, held, d):
    """More moving tokens than two chunks; the adversarial ones have lone tokens."""
    V = values("diag", d)
    model = any_queries(d, 9.0, V=V) if family == "any" else pk.Attention(d, 9.0, V=V)
    crowd, x = Crowd(model, random_leaders(400, 150, 9, seed=d)), place(kind, 150, d)
    direct, fast = systems(model, 400, *held_tokens(held, d), accuracy=1e-13)
    check_reduced(crowd, fast, x, 2e-11)
    result, expected = (implicit_step(crowd.reduced(one), x, 1.0).lin for one in (fast, direct))
    assert agree(expected.blocks, result.blocks, 2e-11)


@pytest.mark.parametrize("d", [2, 3, 5, 9])
@held_or_free
def test_linear_systems_with_followers_and_direct_sums(held, d):
    model = random_model(d, 3.0, seed=d)
    crowd = Crowd(model, random_leaders(24, 8, 3, seed=d))
    check_linear_systems(crowd, prepare(model, *held_tokens(held, d)), 8, held_tokens(held, d))


@both
@held_or_free
@pytest.mark.parametrize("family", ["I", "any"])
def test_linear_systems_with_followers_and_harmonic_sums(family, held, d):
    """Tokens of two chunks: on the sphere, those of one are summed directly."""
    V, n = values("random", d), 70
    model = any_queries(d, 5.0, V=V) if family == "any" else pk.Attention(d, 5.0, V=V)
    crowd, fixed = Crowd(model, random_leaders(200, n, 7, seed=d)), held_tokens(held, d)
    _, fast = systems(model, 200, *fixed, accuracy=1e-12)
    check_linear_systems(crowd, fast, n, fixed)


def check_linear_systems(crowd, whole, n, fixed):
    """The stages of an implicit step solve systems in the Jacobian of the moving tokens."""
    x = pk.sphere.uniform(n, crowd.d, seed=1)
    field = chart_field(crowd, x, *fixed)
    jacobian = finite_differences(field, n * (crowd.d - 1))
    shift = 2.0 * np.linalg.norm(jacobian, 2)
    work = implicit_step(crowd.reduced(whole), x, shift)
    assert_solves(work, field, jacobian, x, shift)


# --- on all cores ------------------------------------------------------------------------


@functools.cache
def many_blocks(d, family, n):
    """A start with three blocks of moving tokens, a system, and a few steps on one thread.

    Leaders are in all blocks, and half of the moving tokens follow a cluster.
    """
    model = any_queries(d, 9.0) if family == "any" else pk.Attention(d, 9.0, V=values("diag", d))
    _, system = systems(model, n + 3000)
    crowd = Crowd(model, random_leaders(n + 3000, n, 12, seed=d))
    x, reduced = place("adversarial", n, d), crowd.reduced(system)
    return x, reduced, steps(IMPLICIT.advance, reduced, x)


def steps(advance, system, x0):
    """What two steps from x0 give, and all that they leave in memory."""
    work, taken = memory(IMPLICIT, system, x0), room(IMPLICIT, 2, x0)
    work.clock[STEP] = 0.05
    assert advance(system, unrolled(x0.shape[1]), x0.copy(), work, Goal(10.0, 1e-6), taken) == 2
    return [*taken, work.u, work.lin.velocity, work.lin.blocks, work.lin.mean, work.inverses]


def last_stages_first(advance, count, blocks):
    """The pipeline in the order in which a stage is as far behind the one before as it may be.

    Each stage overwrites what all of them share before the stage before goes on.
    """
    for block in range(blocks):
        for stage in range(count):
            advance(stage, block)


cases = pytest.mark.parametrize(
    ("d", "family", "n"),
    [
        (2, "I", GROUP + BLOCK + 100),
        (2, "any", 2 * BLOCK + 100),
        (3, "I", 2 * BLOCK + 100),
    ],
)


@cases
@pytest.mark.parametrize("cores", [2, 7])
def test_followers_on_all_cores_give_the_same_bits(monkeypatch, cores, d, family, n):
    monkeypatch.setattr(threads, "cores", lambda: cores)
    x, system, serial = many_blocks(d, family, n)
    shared = steps(IMPLICIT.advance_on_all_cores, system, x)
    assert all(np.array_equal(one, other) for one, other in zip(serial, shared, strict=True))


@cases
def test_followers_are_where_their_leaders_are_in_the_same_stage(monkeypatch, d, family, n):
    monkeypatch.setattr(stages, "pipeline", last_stages_first)
    x, system, serial = many_blocks(d, family, n)
    shared = steps(IMPLICIT.advance_on_all_cores, system, x)
    assert all(np.array_equal(one, other) for one, other in zip(serial, shared, strict=True))
