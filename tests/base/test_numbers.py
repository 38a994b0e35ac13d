"""Numbers that JSON can hold."""

import math

import pytest

from parkade.base.numbers import finite


@pytest.mark.parametrize("value", [0.0, -1.5, 1e308])
def test_a_finite_number_stays(value):
    assert finite(value) == value


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_what_json_cannot_hold_becomes_none(value):
    assert finite(value) is None
