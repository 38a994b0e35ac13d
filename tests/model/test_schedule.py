"""Schedules: values, sampling of functions, and what is refused."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import parkade as pk
from parkade.model.model import from_dict

SCHEDULE = pk.Schedule([0, 1, 10], [4, 9.5, 2])


def test_beta_is_constant_on_each_piece():
    assert SCHEDULE(0) == SCHEDULE(0.999) == 4
    assert SCHEDULE(1) == 9.5
    assert SCHEDULE(1e300) == 2
    assert SCHEDULE([0.5, 1, 9, 10]).tolist() == [4, 9.5, 9.5, 2]
    assert isinstance(SCHEDULE(3.0), float)


def test_it_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        SCHEDULE.beta[0] = 1.0
    values = np.array([1.0, 2.0])
    schedule = pk.Schedule([0, 1], values)
    values[0] = 5.0
    assert schedule(0) == 1


def test_as_json_and_back():
    again = from_dict(json.loads(json.dumps(SCHEDULE.to_dict())))
    assert again == SCHEDULE
    assert again != pk.Schedule([0, 1, 10], [4, 9.5, 3])


def test_a_few_pieces_are_written_out():
    assert repr(SCHEDULE) == "Schedule([0, 1, 10], [4, 9.5, 2])"
    many = pk.Schedule.of(math.sqrt, 1e4, 10)
    assert repr(many) == "Schedule(40 pieces, beta 0.349…94.4, last from t=7.94e+03)"


@pytest.mark.parametrize("t_end", [1e-3, 1.0, 1e5, 1e60, 1e300])
@pytest.mark.parametrize("first", [1e-6, 1.0, 1e-190])
def test_a_sampled_function_is_uniform_in_log_time(t_end, first):
    """Pieces are uniform in log(first + t), and have the value in their middle."""
    schedule = pk.Schedule.of(lambda t: math.log(first + t) + 500, t_end, 8, first=first)
    places = np.log(first + np.append(schedule.times, t_end))
    count = round(8 * (places[-1] - places[0]) / math.log(10))
    assert len(schedule) == max(1, count)
    np.testing.assert_allclose(places, np.linspace(places[0], places[-1], len(places)), atol=1e-9)
    np.testing.assert_allclose(schedule.beta - 500, (places[1:] + places[:-1]) / 2, atol=1e-9)


@pytest.mark.parametrize(
    ("times", "beta", "message"),
    [
        ([1, 2], [1, 1], r"times must begin with 0, got 1; add the piece before it"),
        ([0, 2, 2], [1, 1, 1], r"times must increase, but number 2 is 2 after 2; sort them"),
        ([0, 2, 1], [1, 1, 1], r"times must increase, but number 2 is 1 after 2"),
        ([], [], r"times must be a non-empty 1-D array, got shape \(0,\)"),
        ([0, np.inf], [1, 1], r"times must be finite"),
        ([0, 1], [1], r"beta must be one number for each of the 2 times, got shape \(1,\)"),
        ([0, 1], [1, -1], r"beta must be ≥ 0, got -1"),
        ([0, 1], [1, 1e60], r"beta must be at most 1e\+50"),
        ([0, 1], ["a", "b"], r"beta must be real numbers"),
    ],
)
def test_bad_schedules_are_refused(times, beta, message):
    with pytest.raises(pk.InputError, match=message):
        pk.Schedule(times, beta)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3.0, 10.0), r"function must be a function of t, got 3\.0; pk\.Schedule\(times, beta\)"),
        ((math.sqrt, -1.0), r"t_end must be > 0"),
        ((math.sqrt, 10.0, 0), r"per_decade must be a whole number ≥ 1"),
        ((math.sqrt, 10.0, 10**14), r"a schedule of 10\d* pieces needs .* use fewer"),
        ((lambda t: t - 5, 10.0), r"beta must be ≥ 0"),
        ((lambda t: math.nan, 10.0), r"function\(.*\) must be finite"),
        ((lambda t: [t, t], 10.0), r"function\(.*\) must be one number"),
    ],
)
def test_bad_functions_are_refused(arguments, message):
    with pytest.raises(pk.InputError, match=message):
        pk.Schedule.of(*arguments)


def test_there_is_no_time_before_0():
    with pytest.raises(pk.InputError, match="t must be ≥ 0, got -1"):
        SCHEDULE([0, -1])
