import dataclasses

import numpy as np
from support.experiments import measured, with_a_sixth_of_the_tokens

import parkade as pk
from parkade import theory
from parkade.experiments.claims.common.lives import LifeSeries
from parkade.experiments.claims.ours import forecast
from parkade.experiments.statistics import LEVEL

evidence = measured(forecast, SERIES=with_a_sixth_of_the_tokens(forecast.SERIES))


def test_the_forecast_comes_true(evidence, presentable):
    assert evidence.verdict == "agrees"
    for row in evidence.numbers["series"]:
        assert row["merges"] >= 8
        assert row["median_error"] < 0.02
        assert row["wrong_partners"]["merges"] == row["merges"] - row["right"]
        # Without the right order it is hardly better than a guess.
        assert row["shuffled"]["right"] <= row["shuffled"]["merges"] / 2
    assert len(presentable(forecast.CLAIM, evidence).axes) == 2


def test_a_forecast_that_does_not_know_the_order_is_refuted(verdict, monkeypatch):
    true = theory.forecast

    def wrong(start, beta, **options):
        return true(start[::-1], beta, **options)

    monkeypatch.setattr(theory, "forecast", wrong)
    few = (LifeSeries(2, 24.0, 30, 6, 6), LifeSeries(3, 12.0, 30, 6, 6))
    assert verdict(forecast, SERIES=few) == "contradicts"


def test_bars(evidence):
    tested = evidence.data["tested"][0]

    def judged(right, total, error):
        ratio = np.where(np.arange(total) % 2, error, -error)
        changed = dataclasses.replace(tested, right=np.arange(total) < right, log_ratio=ratio)
        return forecast.judge(changed, LEVEL)

    assert tested.series.d == 2
    assert judged(98, 100, 0.2) == "agrees"
    assert judged(98, 100, 0.4) == "undecided"  # the times are beyond the bar
    assert judged(95, 100, 0.2) == "undecided"  # so few have a probability of 0.18
    assert judged(80, 100, 0.2) == "contradicts"


def test_a_shuffled_forecast_keeps_the_names():
    start = pk.sphere.uniform(30, 2, seed=1)
    same = forecast.shuffled(start, 16.0, np.arange(30))
    assert same.events == theory.forecast(start, 16.0).events
    order = np.random.default_rng(1).permutation(30)
    for event in forecast.shuffled(start, 16.0, order).events[:10]:
        if event.time == 0:  # who is parked at the start is close
            assert pk.sphere.distance(start[event.absorbed], start[event.into]) <= 0.025
    last = forecast.shuffled(start, 16.0, order).events[-1]
    assert last.into == order[0]
