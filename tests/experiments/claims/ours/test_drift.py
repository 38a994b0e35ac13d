import math

import numpy as np
import pytest
from support.experiments import measured, with_a_sixth_of_the_tokens

import parkade as pk
from parkade.experiments.claims.common.lives import LifeSeries
from parkade.experiments.claims.ours import drift

evidence = measured(drift, SERIES=with_a_sixth_of_the_tokens(drift.SERIES))


def test_leaders_move_as_derived(evidence, presentable):
    numbers = evidence.numbers
    assert evidence.verdict == "agrees"
    assert numbers["medians"] == pytest.approx([1, 1], abs=0.02)
    for row in numbers["series"]:
        assert row["median_moved_in_ranges"][0] < 0.3
        assert row["median_moved"][0] < row["median_moved"][1]
    assert len(presentable(drift.CLAIM, evidence).axes) == 2


@pytest.mark.parametrize("factor", [0.8, 1.25])
def test_a_way_that_is_a_quarter_longer_or_shorter_is_refuted(distort, verdict, factor):
    distort(drift, "displacement", lambda way: factor * way)
    assert verdict(drift, SERIES=(LifeSeries(2, 32.0, 30, 12, 12),)) == "contradicts"


@pytest.mark.parametrize("share", drift.SHARES)
def test_the_way_is_that_of_the_time_left(share):
    angle, mass = np.array([0.8, 1.5, 2.4]), np.array([1.0, 4.0, 9.0])
    way = drift.displacement(angle, mass, 64.0, share)
    for phi, m, moved in zip(angle, mass, way, strict=True):
        left, whole = (pk.theory.log_meeting_time(a, 64.0, m) for a in (phi - moved, phi))
        assert float(left - whole) == pytest.approx(math.log(1 - share), abs=1e-9)
    # The first two terms of the series in 1/β.
    log = -math.log(1 - share)
    two = (
        log / (64 * np.sin(angle)) * (1 + (2 + log / 2) * np.cos(angle) / (64 * np.sin(angle) ** 2))
    )
    assert way == pytest.approx(two, rel=0.02)


def test_the_second_of_two_tokens_moves_so_far():
    start = pk.sphere.from_angles([0.0, 1.5])
    run = pk.simulate(pk.Attention(d=2, beta=32.0), start, 1e20)
    end = run.merge_tree().events[-1].time
    for share in drift.SHARES:
        moved = float(pk.sphere.distance(run.at(share * end)[1], start[1]))
        (derived,) = drift.displacement(np.array([1.5]), np.ones(1), 32.0, share)
        assert moved == pytest.approx(derived, rel=1e-3)


def test_verdicts():
    assert drift.judge(0.98, 1.03) == "agrees"
    assert drift.judge(0.98, 1.3) == "undecided"
    assert drift.judge(-math.inf, math.inf) == "undecided"
    assert drift.judge(1.1, 1.3) == "contradicts"
    assert drift.judge(0.5, 0.9) == "contradicts"
