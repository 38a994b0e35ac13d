"""The number of clusters over time, and the last merge: from few ensembles."""

import numpy as np
import pytest
from support.experiments import changed, fewer

import parkade as pk
from parkade.experiments.claims.common import ensembles
from parkade.experiments.claims.ours import coarsening, last_merge
from parkade.experiments.statistics import Mean

quick = fewer(2)  # half of the runs
half_of_the_times = changed(coarsening, SCALED=coarsening.SCALED[::2])
quarter_of_the_tokens = changed(ensembles, N=50, _computed={})  # lives serve both claims


def test_the_number_of_clusters_is_as_forecast(quick, presentable):
    evidence = coarsening.measure(quick)
    numbers = evidence.numbers
    assert evidence.verdict == "agrees"
    assert numbers["distance"]["cars"]["64"] < numbers["distance"]["renyi"]["64"]
    assert numbers["exponents"]["2"][0] == pytest.approx(-1, abs=0.2)
    assert numbers["exponents"]["3"][0] == pytest.approx(-2, abs=0.3)
    presentable(coarsening.CLAIM, evidence)


def test_wrong_forecasts_are_refuted(quick, monkeypatch):
    """Forecasts for half of β; twice of it has the same scaled times."""
    true = ensembles.forecast
    monkeypatch.setattr(ensembles, "forecast", lambda beta, starts: true(beta / 2, starts))
    monkeypatch.setattr(coarsening, "_exponent", lambda d, setup: Mean(1.0 - d, 0.01))
    assert coarsening.measure(quick).verdict == "contradicts"


def test_the_last_merge_is_as_forecast(quick, presentable):
    evidence = last_merge.measure(quick)
    assert evidence.verdict == "agrees"
    low, middle, high = evidence.numbers["beta"]["64"]["forecast quartiles"]
    assert 0.8 < low < middle < high < 2.0
    presentable(last_merge.CLAIM, evidence)


def test_the_angle_is_the_inverse_of_the_meeting_time():
    angles = np.array([0.1, 1.0, 3.0])
    times = pk.theory.log_meeting_time(angles, 30.0)
    assert last_merge._angle(times, 30.0) == pytest.approx(angles, abs=1e-6)


def test_counts_and_last_merge():
    arrivals = np.array([[np.inf, 0.0, np.exp(3.0), np.exp(8.0)]])
    assert ensembles.counts(arrivals, 2.0, np.array([1.0, 2.0, 4.5])).tolist() == [[3, 2, 1]]
    assert np.log(ensembles.last(arrivals)).tolist() == [8.0]
