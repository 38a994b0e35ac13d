"""Full attention ends in one cluster where it should, and other ends are found."""

import pytest
from support.experiments import fewer

from parkade.experiments.claims.field import synchrony

quick = fewer(2)  # half of the runs


@pytest.fixture(scope="module")
def spheres(quick):
    return synchrony.measure_spheres(quick)


@pytest.fixture(scope="module")
def circle(quick):
    return synchrony.measure_circle(quick)


def test_one_cluster_on_spheres(spheres, presentable):
    assert spheres.verdict == "agrees"
    assert spheres.numbers["one_cluster"] == spheres.numbers["runs"] == 8
    presentable(synchrony.CLAIM, spheres)


def test_one_cluster_on_the_circle_and_three_below_the_threshold(circle, presentable):
    assert circle.verdict == "agrees"
    assert circle.numbers["one_cluster"] == circle.numbers["runs"] == 10
    assert list(circle.numbers["three_clusters"].values()) == ["stable", "one"]
    presentable(synchrony.ON_CIRCLE, circle)


def test_a_claim_for_all_beta_is_refuted(quick, monkeypatch):
    # Three clusters are stable for β = −1.
    monkeypatch.setattr(synchrony, "CIRCLE", ((2, -1.0),))
    monkeypatch.setattr(synchrony, "OTHERS", ())
    monkeypatch.setattr(synchrony, "start", lambda n, d, rng: synchrony.triangle(rng))
    assert synchrony.measure_circle(quick).verdict == "contradicts"


def test_another_threshold_is_refuted(quick, monkeypatch):
    monkeypatch.setattr(synchrony, "CIRCLE", ((2, 0.0),))
    monkeypatch.setattr(synchrony, "OTHERS", ())
    monkeypatch.setattr(synchrony, "CRITICAL", -0.5)
    assert synchrony.measure_circle(quick).verdict == "contradicts"


def test_a_run_that_is_too_short_leaves_it_undecided(quick, monkeypatch):
    monkeypatch.setattr(synchrony, "horizon", lambda beta: 100.0)
    monkeypatch.setattr(synchrony, "SPHERES", ((3, 9.0),))
    assert synchrony.measure_spheres(quick).verdict == "undecided"
