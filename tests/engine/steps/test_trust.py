"""How far a run is trusted: the record of rounding errors, step by step."""

from __future__ import annotations

import numpy as np
import pytest

from parkade.engine.compile.jit import interpreted
from parkade.engine.steps.clock import DRIFT, TIME, TRUSTED, new_clock
from parkade.engine.steps.trust import ROUNDING, new_watch, note_growth, note_rest
from parkade.solve.lowering.handover import resting, take_over, take_over_watch

TOL = 1e-6


@pytest.mark.parametrize(
    ("drift", "start", "end", "speed", "expected"),
    [
        (1e-8, 1.0, 2.0, 1e-3, (0.0, np.inf)),  # faster than rounding
        (1e-8, 1.0, 2.0, 1e-17, (1e-8 + 1e-16, np.inf)),  # no faster
        (0.0, 1.0, 3e10, 1e-17, (3e-6, 1.0 + 1e10)),  # until it may be 1e-16 · 1e10 = tol
        (2e-6, 1.0, 2.0, 1e-3, (2e-6 + 1e-16, 1.0)),  # who knows what moves them now
    ],
)
def test_rounding_counts_while_the_model_is_no_faster(drift, start, end, speed, expected):
    clock = new_clock()
    clock[DRIFT], clock[TIME] = drift, start
    interpreted(note_rest)(clock, end, speed, 1e-16, TOL)
    assert (clock[DRIFT], clock[TRUSTED]) == pytest.approx(expected, rel=1e-9)


def follow(clock, watch, times, *, rate, size, causal=True):
    """One token whose distance from an equilibrium is `size` at time 0 and grows at a rate."""
    for t in times:
        clock[TIME] = t
        gap = size * np.exp(rate * t)
        x, velocity = np.array([[1.0, gap]]), np.array([[0.0, rate * gap]])
        interpreted(note_growth)(clock, watch, x, velocity, ROUNDING, TOL, causal)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("rate", [1e-30, 1e-3, 1.0])
def test_trust_ends_when_rounding_errors_have_grown_to_tol(rate, causal):
    clock, watch = new_clock(), new_watch(1, 2)
    follow(clock, watch, np.arange(0.0, 30.0) / rate, rate=rate, size=1e-15, causal=causal)
    assert clock[TRUSTED] * rate == pytest.approx(np.log(TOL / ROUNDING), abs=1.0)
    assert resting(watch, 1e-15 * rate, causal) == 1
    assert resting(watch, 1e-16 * rate, causal) == 0


def test_tokens_need_not_go_far():
    """A token that has left an unstable equilibrium by 70 tol is not where it should be."""
    clock, watch = new_clock(), new_watch(1, 2)
    follow(clock, watch, np.arange(0.0, 26.0), rate=1.0, size=1e-15)
    assert clock[TRUSTED] == pytest.approx(np.log(TOL / ROUNDING), abs=1.0)


def test_a_start_that_is_known_well_enough_is_trusted():
    clock, watch = new_clock(), new_watch(1, 2)
    follow(clock, watch, np.arange(0.0, 18.0), rate=1.0, size=1e-8)
    assert clock[TRUSTED] == np.inf


def test_a_shift_in_time_is_no_error():
    """Tokens that rest at a speed of 1e-40 meet at t = 1e40, in a time of order one."""
    clock, watch = new_clock(), new_watch(1, 2)
    gaps = np.geomspace(1.0, 1e-9, 200)  # 1 - t/1e40; speeds are the inverse of it
    for gap in gaps:
        clock[TIME] = 1e40 * (1.0 - gap)
        x, velocity = np.array([[1.0, -np.log(gap)]]), np.array([[0.0, 1e-40 / gap]])
        interpreted(note_growth)(clock, watch, x, velocity, ROUNDING, TOL, True)
    assert clock[TRUSTED] == np.inf


def test_errors_go_on_to_grow_in_the_next_model():
    """Where all is twice as fast, and the time begins at 0 again."""
    clock, watch = new_clock(), new_watch(1, 2)
    follow(clock, watch, np.arange(0.0, 15.0), rate=1.0, size=1e-15)
    then, noted = new_clock(), new_watch(1, 2)
    take_over(then, clock, 0.1)
    take_over_watch(noted, watch, -14.0)
    follow(then, noted, np.arange(0.0, 8.0, 0.5), rate=2.0, size=1e-15 * np.exp(14.0))
    assert clock[TRUSTED] == np.inf
    assert 14.0 + 2.0 * then[TRUSTED] == pytest.approx(np.log(TOL / ROUNDING), abs=1.0)


def test_what_moves_again_in_the_next_model_is_trusted():
    """Tokens at rest by rounding only; then another model moves them."""
    clock, watch = new_clock(), new_watch(1, 2)
    follow(clock, watch, np.arange(0.0, 3.0), rate=1e-3, size=1e-14)
    then, noted = new_clock(), new_watch(1, 2)
    take_over_watch(noted, watch, -2.0)
    follow(then, noted, np.arange(0.0, 5.0, 0.1), rate=1.0, size=1e-3)
    assert then[TRUSTED] == np.inf
