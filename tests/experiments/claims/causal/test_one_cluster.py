"""Theorem 4.1 is seen, and a wrong limit too."""

import numpy as np
from support.experiments import fewer, measured

from parkade import theory
from parkade.experiments.claims.causal import one_cluster

quick = fewer(3)  # a third of the runs
evidence = measured(one_cluster)


def test_every_run_ends_at_the_first_token(evidence, presentable):
    assert evidence.verdict == "agrees"
    numbers = evidence.numbers
    assert numbers["reached"] == numbers["runs"] == 9
    assert numbers["worst distance"] < 1e-14
    assert numbers["exceptions"] == []
    times = numbers["times to be within 1e-3"]
    assert np.median(times["16"]) > 10 * np.median(times["1"])
    assert all(1 < t < 1e100 for ts in times.values() for t in ts)
    presentable(one_cluster.CLAIM, evidence)


def test_another_limit_is_refuted(quick, distort):
    distort(theory.FinalConfiguration, "limit", np.negative)
    result = one_cluster.measure(quick)
    assert result.verdict == "contradicts"
    assert len(result.numbers["exceptions"]) == 9


def test_a_run_that_is_too_short_leaves_it_undecided(quick, monkeypatch):
    monkeypatch.setattr(one_cluster, "T", 1e3)
    result = one_cluster.measure(quick)
    assert result.verdict == "undecided"
    assert {e["beta"] for e in result.numbers["exceptions"]} <= {4.0, 16.0}
