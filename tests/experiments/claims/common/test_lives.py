"""What the law of merges needs to know of a run."""

import math

import numpy as np
import pytest

import parkade as pk
from parkade.experiments.claims.common import lives
from parkade.experiments.claims.common.lives import LifeSeries
from parkade.theory.merge_tree import Merge, MergeTree


def tree(n, *events):
    return MergeTree(n, 0.0, 1e60, 0.01, 2.0, tuple(Merge(*event) for event in events))


def test_the_lives_of_a_series_depend_on_the_seed_and_the_stream(quick):
    series = LifeSeries(2, 16.0, 20, few=2, many=5)
    seen = []
    runs = list(lives.simulate(series, quick, 1))
    assert len(runs) == 2
    for run, merged in runs:
        assert run.tokens[0].shape == (20, 2)
        assert merged.count(1e60) == 1
        seen.append(run.tokens[0])
    again = [run.tokens[0] for run, _ in lives.simulate(series, quick, 1)]
    other = [run.tokens[0] for run, _ in lives.simulate(series, quick, 2)]
    assert np.array_equal(seen, again)
    assert not np.array_equal(seen[0], seen[1])
    assert not np.array_equal(seen, other)


def test_only_tokens_before_the_leader_pull_and_count():
    start = pk.sphere.from_angles([0.0, 2.0, 1.0, 0.01, 0.02])
    merges = lives.fates(
        start, tree(5, (1, 3, 0, 1), (2, 4, 0, 1), (1e3, 2, 0, 1), (1e9, 1, 0, 1)), 16.0
    )
    middle, last = merges
    assert (middle.time, middle.leader, middle.mass) == (1e3, 2, 1)  # tokens 3 and 4 come later
    assert middle.angle == pytest.approx(1.0)
    assert middle.balance == pytest.approx(0, abs=1e-9)  # tokens 0 and 1 pull alike
    assert middle.share == pytest.approx(0.5)
    assert (last.leader, last.mass, last.balance, last.share) == (1, 1, 1.0, 1.0)


def test_pulls_are_those_of_the_places_where_leaders_started():
    # Tokens 0 and 1 are with 0, which is at the angle 0; token 2 pulls from the other side.
    start = pk.sphere.from_angles([0.0, 0.3, 2.2, 1.0])
    (fate,) = lives.fates(start, tree(4, (1, 1, 0, 1), (1e3, 3, 0, 1)), 8.0)
    toward = 2 * math.exp(-8 * (1 - math.cos(1.0))) * math.sin(1.0)
    away = math.exp(-8 * (1 - math.cos(1.2))) * math.sin(1.2)
    assert fate.mass == 2
    assert fate.share == pytest.approx(toward / (toward + away))
    assert fate.balance == pytest.approx((toward - away) / (toward + away))


def test_early_merges_do_not_count():
    assert [e.time for e in lives.late(tree(3, (99.0, 2, 1, 1), (101.0, 1, 0, 2)))] == [101.0]


def test_columns_are_those_of_each_fate():
    one, two = lives.Fate(1e3, 4, 0.5, 2, 0.9, 1.0), lives.Fate(1e4, 5, 1.5, 3, 0.8, 0.7)
    arrays = lives.columns([one, two])
    assert arrays.time.tolist() == [1e3, 1e4]
    assert arrays.share.tolist() == [1.0, 0.7]
    assert all(column.size == 0 for column in lives.columns([]))


def test_times_are_those_of_the_theory():
    angle, mass = np.array([0.5, 1.0, 3.0]), np.array([1.0, 7.0, 100.0])
    expected = [
        float(pk.theory.log_meeting_time(a, 32.0, m)) for a, m in zip(angle, mass, strict=True)
    ]
    assert lives.log_times(angle, mass, 32.0) == pytest.approx(expected, abs=1e-12)
