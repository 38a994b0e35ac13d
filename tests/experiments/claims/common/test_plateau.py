"""The flattest decade of an ensemble."""

import numpy as np
import pytest

from parkade.experiments.claims.common import plateau


def test_the_plateau_is_the_flattest_decade():
    t = plateau.TIMES
    level = 100 / t + 8 + 4 / (1 + t / 3000)  # gathering, flat near t = 300, merging
    flattest = plateau.find([np.stack([level, level]), 2 * np.stack([level, level])])
    width = plateau.PER_DECADE
    falls = level[:-width] / level[width:]
    assert flattest.fall == pytest.approx(falls.min())
    assert flattest.middle == np.argmin(falls) + width // 2
