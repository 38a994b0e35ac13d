"""The first state is as claimed, and a wrong number of clusters is refuted."""

import numpy as np
import pytest
from support.experiments import fewer, measured

from parkade.experiments.claims.field import first_state
from parkade.model import sphere

quick = fewer(2)  # one run instead of two
evidence = measured(first_state)


def test_the_fastest_wave_sets_the_number_of_clusters(evidence, presentable):
    # Fails by chance with a probability of 1e-6.
    assert evidence.verdict == "agrees"
    assert evidence.numbers["largest_error_of_rates"] < 1e-7
    assert evidence.numbers["chance_by_linear_theory"]["5"] > 0.99
    presentable(first_state.CLAIM, evidence)


@pytest.mark.parametrize("wrong", ["number", "rates"])
def test_a_wrong_number_is_refuted(distort, verdict, monkeypatch, wrong):
    if wrong == "number":
        monkeypatch.setitem(first_state.CLAIMED, 7.0, 5)
    else:
        distort(first_state, "rates", lambda rates: 1.00001 * rates)
    without_runs = {
        "gather": lambda beta, rng: (np.arange(9.0), np.zeros((9, 1))),
        "first_count": lambda times, angles, beta: 4,
        "probability": lambda *a: 1.0,
    }
    assert verdict(first_state, **without_runs) == "contradicts"


def test_too_few_runs_with_the_claimed_number_are_unlikely():
    assert first_state.probability(12, 12, 0.98) == pytest.approx(1)
    assert first_state.probability(2, 12, 0.98) < 1e-12


def test_the_first_state_is_the_first_that_lasts():
    # One ring, then five clusters for a short time, then three, then two.
    ring, times = np.linspace(-3, 3, 200), np.arange(20.0)
    stages = [(ring, 3), (np.linspace(-2, 2, 5), 2), (np.arange(3.0), 8), (np.arange(2.0), 7)]
    angles = np.array([np.resize(a, 200) for a, count in stages for _ in range(count)])
    assert first_state.first_count(times, angles, 5.0) == 3
    assert sphere.from_angles(angles).shape == (20, 200, 2)
