"""What the integrators offer is what the code above them relies on."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from support.common import random_model
from support.steps import memory, room

import parkade as pk
from parkade.engine.steps import clock
from parkade.engine.steps.integrator import Goal
from parkade.engine.steps.methods import METHODS
from parkade.engine.system import unrolled
from parkade.solve.lowering.lower import prepare


def test_methods_go_by_their_names():
    assert {name: method.name for name, method in METHODS.items()} == {
        "explicit": "explicit",
        "implicit": "implicit",
        "splitting": "splitting",
    }
    assert [method.order for method in METHODS.values()] == [5, 4, 1]
    assert [method.stages for method in METHODS.values()] == [6, 6, 6]


@pytest.mark.parametrize("mask", ["causal", "full"])
@pytest.mark.parametrize("name", ["explicit", "implicit"])
def test_a_run_by_hand_is_that_of_simulate(name, mask):
    integrator, (n, d) = METHODS[name], (12, 3)
    model = pk.Attention(d, beta=9.0, mask=mask)  # V = I, so that its frame is the usual one
    expected = pk.simulate(model, pk.sphere.uniform(n, d, seed=1), 2.0, method=name, sums="direct")
    system, dims, x = prepare(model), unrolled(d), expected.tokens[0].copy()
    work, goal = memory(integrator, system, x), Goal(2.0, 1e-6)
    steps = room(integrator, 1000, x)
    count = integrator.advance(system, dims, x, work, goal, steps)
    assert count == expected.stats.steps
    assert work.clock[clock.TIME] == 2.0
    assert work.clock[clock.REJECTED] == expected.stats.rejected
    assert work.clock[clock.TRUSTED] == np.inf
    assert np.array_equal(steps.times[:count], expected.times[1:])
    assert np.array_equal(steps.tokens[:count], expected.tokens[1:])
    assert np.array_equal(x, expected.final)


def test_all_cores_give_the_same_bits():
    """Of explicit steps; `test_stages` compares implicit ones, which need harmonic sums for it."""
    integrator, (n, d) = METHODS["explicit"], (300, 3)
    system, x0 = prepare(random_model(d, seed=2)), pk.sphere.uniform(n, d, seed=2)
    runs = []
    for advance in (integrator.advance, integrator.advance_on_all_cores):
        x, work, goal = x0.copy(), memory(integrator, system, x0), Goal(1.0, 1e-6)
        steps = room(integrator, 3, x)
        assert advance(system, unrolled(d), x, work, goal, steps) == 3
        runs.append(steps)
    for one, other in zip(*runs, strict=True):
        assert np.array_equal(one, other)


def test_descriptions_load_without_numba():
    script = """if True:
        import sys
        from parkade.engine import system
        from parkade.engine.steps import integrator, tableau
        from parkade.engine.sums import series
        assert "numba" not in sys.modules
    """
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
