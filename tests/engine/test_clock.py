"""The clock: when tokens were last moved by the model."""

from __future__ import annotations

import numpy as np
import pytest

from parkade.engine.clock import MOTION, TRUSTED, new_clock, note_motion


@pytest.mark.parametrize(
    ("last", "start", "speed", "expected"),
    [
        (0.0, 1.0, 1e-3, 2.0),  # faster than rounding
        (0.0, 1.0, 1e-17, 0.0),  # no faster
        (0.0, 2e10, 1e-3, 0.0),  # rounding had 2e10 · 1e-16 > tol of its own: who knows
        (1.5e10, 2e10, 1e-3, 2.0),
    ],
)
def test_motion_is_noted_while_rounding_cannot_explain_it(last, start, speed, expected):
    clock = new_clock()
    clock[MOTION] = last
    note_motion(clock, start, 2.0, speed, 1e-16, 1e-6)
    assert clock[MOTION] == expected
    assert np.count_nonzero(np.delete(clock, [MOTION, TRUSTED])) == 0
