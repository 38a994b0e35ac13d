"""Runs of very many tokens take explicit steps while they gather, and while clusters meet."""

from __future__ import annotations

import numpy as np
import pytest
from support.common import worst
from support.resting import calm_times, merges

import parkade as pk
from parkade.solve.compiled.many import ManyStepper
from parkade.solve.planning.rules import GATHERING, VERY_MANY

MODEL, X = pk.Attention(d=2, beta=64.0), pk.sphere.uniform(VERY_MANY, 2, seed=1)
END = 1e5
TIMES = np.concatenate([[0.0], np.geomspace(1.0, END, 400)])


@pytest.fixture(scope="module")
def switching():
    """A run, and the times of its explicit and of its implicit steps after the gathering."""
    taken, advance = {True: [], False: []}, ManyStepper.advance

    def noted(self, most):
        explicit = self._explicit is not None or self._is_short()
        steps = advance(self, most)
        taken[explicit].extend(steps.times + GATHERING)
        return steps

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ManyStepper, "advance", noted)
        run = pk.simulate(MODEL, X, END, times=TIMES)
    return run, *(np.array(taken[kind]) for kind in (True, False))


@pytest.fixture(scope="module")
def whole():
    """The run in which all tokens take part in all steps, which are implicit; and its merges."""
    run = pk.simulate(MODEL, X, END, rest=False, method="implicit")
    return run, [t for _, t in merges(run).values()]


def test_steps_are_explicit_where_clusters_meet(switching, whole):
    """They are implicit elsewhere, so that there are few of them."""
    (run, explicit, implicit), (_, meetings) = switching, whole
    assert run.stats.reason == "long causal run, explicit while tokens gather"
    assert len(meetings) > 0
    near = np.abs(explicit[:, None] - np.array(meetings)).min(axis=1) < 60
    assert len(explicit) > 10
    assert near[explicit > 1000].all()
    assert len(implicit) > len(explicit)
    assert run.stats.saved > 0.3


def test_tokens_go_where_implicit_steps_of_all_take_them(switching, whole):
    (run, *_), (expected, meetings) = switching, whole
    calm = calm_times(TIMES[TIMES > 100], meetings)
    assert len(calm) > 150
    tokens = run.tokens[np.isin(TIMES, calm)]
    assert worst(tokens, expected.at(calm)) < 1e-5


def test_bits_depend_neither_on_what_is_saved_nor_on_threads(switching):
    run, *_ = switching
    last = pk.simulate(MODEL, X, END, times="final")
    (beside,) = pk.simulate_many(MODEL, [X], END, times="final", threads=1)
    assert np.array_equal(last.final, run.final)
    assert np.array_equal(beside.final, run.final)
    assert (last.stats.steps, last.stats.woken) == (run.stats.steps, run.stats.woken)
    assert last.trusted_until == run.trusted_until


@pytest.mark.parametrize("most", [1, 7])
def test_bits_do_not_depend_on_how_many_steps_a_call_takes(monkeypatch, switching, most):
    """The clock decides how many, and it may end a call between two looks at resting tokens."""
    run, *_ = switching
    advance = ManyStepper.advance
    monkeypatch.setattr(ManyStepper, "advance", lambda self, _: advance(self, most))
    other = pk.simulate(MODEL, X, END, times="final")
    assert np.array_equal(other.final, run.final)
    assert (other.stats.steps, other.stats.woken) == (run.stats.steps, run.stats.woken)


def test_runs_of_some_hundred_units_of_time_gather_too():
    """Explicit to the end, they would take steps as long as tokens need to return."""
    run, whole = (
        pk.simulate(MODEL, X, 400.0, times="final", **options)
        for options in ({}, {"method": "explicit"})
    )
    assert run.stats.reason == "long causal run, explicit while tokens gather"
    assert run.stats.rested > 0
    assert run.stats.steps < 0.7 * whole.stats.steps
    assert worst(run.tokens, whole.tokens) < 1e-5


@pytest.mark.parametrize("options", [{"method": "implicit"}, {"times": "steps"}, {"rest": False}])
def test_other_runs_take_steps_of_one_kind(monkeypatch, options):
    monkeypatch.setattr(ManyStepper, "__init__", None)
    run = pk.simulate(MODEL, X, 400.0, **({"times": "final"} | options))
    assert "gather" not in run.stats.reason
