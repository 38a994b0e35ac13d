import math

import numpy as np
import pytest
from support.experiments import measured, with_a_sixth_of_the_tokens

import parkade as pk
from parkade.experiments.claims.common import lives
from parkade.experiments.claims.common.lives import FateArrays, LifeSeries
from parkade.experiments.claims.ours import lifetime
from parkade.experiments.statistics import Mean

CIRCLE = LifeSeries(2, 64.0, 200, few=2, many=2)


evidence = measured(lifetime, SERIES=with_a_sixth_of_the_tokens(lifetime.SERIES))


def made(log_time, angle, mass):
    """Merges with these times, angles and masses."""
    ones = np.ones_like(angle)
    return lifetime.predicted(CIRCLE, FateArrays(np.exp(log_time), ones, angle, mass, ones, ones))


def test_the_slope_is_one_and_the_correction_corrects(evidence, presentable):
    assert evidence.verdict == "agrees"
    assert evidence.numbers["median_error"] < 0.02
    for row in evidence.numbers["series"]:
        assert row["slope"][0] == pytest.approx(1, abs=0.05)
        assert row["sd"] < row["sd_without_correction"]
    assert len(presentable(lifetime.CLAIM, evidence).axes) == 2


def test_predictions_are_those_of_the_law():
    angle, mass = np.array([0.7, 1.5, 2.5]), np.array([1.0, 5.0, 9.0])
    merges = made(np.array([10.0, 50.0, 90.0]), angle, mass)
    expected = [
        float(pk.theory.log_meeting_time(a, 64.0, m)) for a, m in zip(angle, mass, strict=True)
    ]
    assert merges.exact == pytest.approx(expected)
    assert merges.scale == pytest.approx(64 * (1 - np.cos(angle)))
    # The error of the short formula, to the first order.
    next_term = 2 * np.cos(angle) / (64 * np.sin(angle) ** 2)
    assert merges.exact - merges.short == pytest.approx(next_term, abs=0.02)


@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "agrees"), (1.03, "contradicts")])
def test_another_slope_is_refuted(factor, verdict):
    rng = np.random.default_rng(1)
    angle, mass = rng.uniform(0.7, 2.8, 150), rng.integers(1, 30, 150).astype(float)
    law = made(np.zeros(150), angle, mass)
    seen = law.exact + (factor - 1) * law.scale + 0.2 * rng.standard_normal(150)
    merges = made(seen, angle, mass)
    slope = merges.slope(merges.exact)
    assert slope.sigmas(factor) < 5
    assert lifetime.judge(slope, 5.0) == verdict


def test_a_slope_that_is_hardly_known_decides_nothing():
    assert lifetime.judge(Mean(1.0, 0.05), 5.0) == "undecided"


def test_the_second_of_two_tokens_keeps_the_law():
    start = pk.sphere.from_angles([0.0, 2.0])
    tree = pk.simulate(pk.Attention(d=2, beta=16.0), start, 1e20).merge_tree()
    merges = lifetime.predicted(
        LifeSeries(2, 16.0, 2, 1, 1), lives.columns(lives.fates(start, tree, 16.0))
    )
    assert math.isclose(merges.seen[0], merges.exact[0], abs_tol=1e-4)
