"""The stages of an implicit step in a pipeline: in order, and with the bits of one thread."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from support.harmonics import place, systems, values
from support.steps import memory, room

import parkade as pk
from parkade.engine.compile import threads
from parkade.engine.steps.clock import STEP
from parkade.engine.steps.implicit import IMPLICIT
from parkade.engine.steps.integrator import Goal
from parkade.engine.steps.stages import BLOCK
from parkade.engine.sums.running import GROUP
from parkade.engine.system import unrolled


def steps(advance, system, x0, count):
    """The results of `advance` for a few steps from x0."""
    work, taken = memory(IMPLICIT, system, x0), room(IMPLICIT, count, x0)
    work.clock[STEP] = 0.05
    dims, goal = unrolled(x0.shape[1]), Goal(10.0, 1e-6)
    assert advance(system, dims, x0.copy(), work, goal, taken) == count
    return taken


@functools.cache
def one_thread(d, n, name):
    """A start, a system, and the results of steps on one thread."""
    x = place("adversarial", n, d)  # with lone tokens, which look at all before them
    frozen = pk.sphere.uniform(2, d, seed=9)
    model = pk.Attention(beta=9.0, V=values(name, d))
    _, system = systems(model, n, frozen, np.array([3.0, 0.5]))
    return x, system, steps(IMPLICIT.advance, system, x, 2)


@pytest.mark.parametrize(
    ("d", "n", "name"),
    [(2, GROUP + BLOCK + 100, "diag"), (2, 2 * BLOCK, "random"), (3, BLOCK + 300, "I")],
)
@pytest.mark.parametrize("cores", [1, 2, 7])
def test_bits_do_not_depend_on_cores(monkeypatch, cores, d, n, name):
    monkeypatch.setattr(threads, "cores", lambda: cores)
    x, system, serial = one_thread(d, n, name)
    shared = steps(IMPLICIT.advance_on_all_cores, system, x, 2)
    for one, other in zip(serial, shared, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("d", [2, 3])
def test_what_is_carried_from_block_to_block_is_right(d):
    """Compared with direct sums, because one thread also goes from block to block."""
    n = BLOCK + 300
    x = place("clustered", n, d)
    direct, fast = systems(pk.Attention(beta=9.0, V=values("diag", d)), n)
    _, expected, _ = steps(IMPLICIT.advance, direct, x, 1)
    _, result, _ = steps(IMPLICIT.advance, fast, x, 1)
    assert np.abs(result - expected).max() < 1e-9
    assert np.abs(result[-1, BLOCK:] - x[BLOCK:]).max() > 1e-3  # they do move


def test_more_than_one_group_goes_where_explicit_steps_go():
    model = pk.Attention(d=2, beta=16.0)
    x0 = pk.sphere.uniform(GROUP + BLOCK + 100, 2, seed=3)
    implied, expected = (
        pk.simulate(model, x0, 0.5, method=method, times="final", tol=1e-8).final
        for method in ("implicit", "explicit")
    )
    assert np.abs(implied - expected).max() < 1e-6


def test_a_large_run_uses_the_pipeline_and_has_the_bits_of_one_among_many(monkeypatch):
    calls = []
    real = threads.pipeline

    def watched(advance, stages, blocks):
        calls.append(blocks)
        real(advance, stages, blocks)

    monkeypatch.setattr("parkade.engine.steps.stages.pipeline", watched)
    model, x0 = pk.Attention(d=2, beta=16.0), pk.sphere.uniform(2 * BLOCK + 1, 2, seed=4)
    alone = pk.simulate(model, x0, 1.0, method="implicit", times="final")
    assert 3 in calls  # and a short run before it, of one block, if nothing was compiled yet
    calls.clear()
    (among,) = pk.simulate_many(model, [x0], 1.0, method="implicit")
    assert not calls
    assert np.array_equal(alone.final, among.final)
