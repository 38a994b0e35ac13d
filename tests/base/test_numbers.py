"""Numbers that JSON can hold."""

import math

from parkade.base.numbers import finite


def test_what_json_cannot_hold_becomes_none():
    values = [0.0, -1.5, 1e308, math.inf, -math.inf, math.nan]
    assert [finite(value) for value in values] == [0.0, -1.5, 1e308, None, None, None]
