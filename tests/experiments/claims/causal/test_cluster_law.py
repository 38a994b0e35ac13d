"""The number of metastable clusters: the fit and the verdict."""

import json

import pytest

from parkade.experiments.claims.causal import cluster_law
from parkade.experiments.statistics import Exponent


@pytest.fixture(scope="module")
def circle(quick):
    return cluster_law.measure([cluster_law.CIRCLE], quick)


def test_the_circle_has_exponent_one_half(circle):
    # "agrees" by chance fails with a probability of 1e-6 (t-distribution of the fit).
    assert circle.verdict == "agrees"
    assert circle.false_alarm <= 1e-6
    (row,) = circle.numbers["series"]
    assert row["expected"] == 0.5
    assert 3 < row["clusters"][0] < 8 < row["clusters"][-1] < 30
    assert json.loads(json.dumps(circle.numbers))


def test_a_wrong_exponent_is_contradicted(quick, monkeypatch):
    # The circle's clusters, judged as if it were a sphere in d = 4.
    monkeypatch.setattr(cluster_law.BetaSeries, "expected", 1.5)
    assert cluster_law.measure([cluster_law.CIRCLE], quick).verdict == "contradicts"


@pytest.mark.parametrize(
    ("value", "error", "verdict"),
    [(0.5, 0.01, "agrees"), (0.62, 0.01, "contradicts"), (0.5, 0.2, "undecided")],
)
def test_judge(value, error, verdict):
    fit = Exponent(value, error, 100, 1.0, 0.0)
    assert cluster_law._judge(fit, 0.5, fit.reach(1e-6)) == verdict


def test_it_can_be_drawn(circle, drawn):
    assert drawn(cluster_law.CLAIMS[0], circle).axes[0].get_xlabel() == "β"


def test_predictions_come_from_the_theory():
    assert [claim.prediction for claim in cluster_law.CLAIMS] == ["β^0.5", "β^1", "β^0.5, β^1"]
