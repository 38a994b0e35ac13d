"""Runs that several tests of a claim need are computed once."""

import pickle

import pytest
from support.experiments import computed_once

from parkade.solve.solver import Solver


@pytest.fixture
def verdict(quick, monkeypatch):
    """Measures the claim of a module with some names in it changed, and returns the verdict."""

    def measure(module, **changes):
        for name, value in changes.items():
            monkeypatch.setattr(module, name, value)
        return module.measure(quick).verdict

    return measure


@pytest.fixture
def distort(monkeypatch):
    """Changes the results of a function, named by its module or class, until the test ends."""

    def distort(owner, name, change):
        true = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *args, **options: change(true(*args, **options)))

    return distort


@pytest.fixture(scope="module", autouse=True)
def same_runs_once():
    """Tests of a wrong prediction measure again what was measured for the right one.

    The same problem, start, method and seed give the same bits.
    """

    def key(solver, plan, x0, hooks, seed):
        try:
            return pickle.dumps((solver.problem, plan.method, seed, x0.tobytes()))
        except (AttributeError, pickle.PicklingError):  # a function of a test
            return None

    with pytest.MonkeyPatch.context() as patch:
        computed_once(patch, Solver, "_follow", key)
        yield
