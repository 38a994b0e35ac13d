"""The stages of an implicit step in a pipeline: in order, and with the bits of one thread."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from support.harmonics import place, systems, values

import parkade as pk
from parkade.engine import METHODS, harmonic, threads
from parkade.engine.stages import BLOCK
from parkade.engine.system import unrolled

implicit = METHODS["implicit"]


def steps(advance, system, x0, count, stores=False):
    """What `advance` gives for a few steps from x0."""
    n, d = x0.shape
    x, work = x0.copy(), implicit.workspace(n, d, causal=True, stores=stores)
    implicit.start(system, unrolled(d), x, work, 10.0, 1e-6)
    work.clock[implicit.STEP] = 0.05
    chunk = np.empty(count), np.empty((count, n, d)), np.empty((count, implicit.DENSE, n, d))
    assert advance(system, unrolled(d), x, work, 10.0, 1e-6, False, *chunk) == count
    return chunk


@pytest.mark.parametrize(
    ("d", "n", "name"),
    [(2, harmonic.GROUP + BLOCK + 100, "diag"), (2, 2 * BLOCK, "random"), (3, BLOCK + 300, "I")],
)
@pytest.mark.parametrize("cores", [1, 2, 7])
def test_bits_do_not_depend_on_cores(monkeypatch, cores, d, n, name):
    monkeypatch.setattr(threads, "cores", lambda: cores)
    x = place("adversarial", n, d)  # with lone tokens, which look at all before them
    frozen = pk.sphere.uniform(2, d, seed=9)
    model = pk.Attention(beta=9.0, V=values(name, d))
    _, system = systems(model, n, frozen, np.array([3.0, 0.5]))
    serial = steps(implicit.advance, system, x, 3)
    shared = steps(implicit.advance.py_func, system, x, 3)
    for one, other in zip(serial, shared, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("d", [2, 3])
def test_what_is_carried_from_block_to_block_is_right(d):
    """One thread is no witness: it goes from block to block as well."""
    n = BLOCK + 300
    x = place("clustered", n, d)
    direct, fast = systems(pk.Attention(beta=9.0, V=values("diag", d)), n)
    _, expected, _ = steps(implicit.advance, direct, x, 2, stores=True)
    _, found, _ = steps(implicit.advance, fast, x, 2)
    assert np.abs(found - expected).max() < 1e-9
    assert np.abs(found[-1, BLOCK:] - x[BLOCK:]).max() > 1e-3  # they do move


def test_more_than_one_group_goes_where_explicit_steps_go():
    model = pk.Attention(d=2, beta=16.0)
    x0 = pk.sphere.uniform(harmonic.GROUP + BLOCK + 100, 2, seed=3)
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

    monkeypatch.setattr("parkade.engine.stages.pipeline", watched)
    model, x0 = pk.Attention(d=2, beta=16.0), pk.sphere.uniform(2 * BLOCK + 1, 2, seed=4)
    alone = pk.simulate(model, x0, 5.0, method="implicit", times="final")
    assert set(calls) == {3}
    calls.clear()
    (among,) = pk.simulate_many(model, [x0], 5.0, method="implicit")
    assert not calls
    assert np.array_equal(alone.final, among.final)


@pytest.mark.parametrize("count", [1, 2, 3, 9])
def test_a_pipeline_keeps_the_order(count):
    seen, lock = [], threading.Lock()
    pause = np.random.default_rng(0).uniform(0, 1e-3, (4, 6))

    def advance(stage, block):
        time.sleep(pause[stage, block])
        with lock:
            assert block == 0 or (stage, block - 1) in seen
            assert stage == 0 or (stage - 1, block) in seen
            seen.append((stage, block))

    threads.pipeline(advance, 4, 6, count)
    assert sorted(seen) == [(stage, block) for stage in range(4) for block in range(6)]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_pipeline_that_breaks_does_not_hang(count):
    def advance(stage, block):
        if (stage, block) == (1, 2):
            raise ValueError("stage 1 fails")

    with pytest.raises(ValueError, match="stage 1 fails"):
        threads.pipeline(advance, 4, 5, count)
