"""Runs that several tests of a claim need are computed once."""

import pickle

import pytest

from parkade.solve.solver import Solver


@pytest.fixture(scope="module", autouse=True)
def same_runs_once():
    """Tests of a wrong prediction measure again what was measured for the right one.

    The same problem, start, method and seed give the same bits.
    """
    known = {}
    follow = Solver._follow

    def follow_once(solver, plan, x0, hooks, seed):
        try:
            key = pickle.dumps((solver.problem, plan.method, seed, x0.tobytes()))
        except (AttributeError, pickle.PicklingError):  # a function of a test
            return follow(solver, plan, x0, hooks, seed)
        if key not in known:
            known[key] = follow(solver, plan, x0, hooks, seed)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Solver, "_follow", follow_once)
        yield
