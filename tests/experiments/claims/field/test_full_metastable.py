"""Clusters of full attention live as long as claimed, and wrong lifetimes are refuted."""

import math

import numpy as np
import pytest
from support.experiments import measured

from parkade.experiments.claims.field import full_metastable

evidence = measured(full_metastable)


def test_clusters_form_and_stay_as_claimed(evidence, presentable):
    assert evidence.verdict == "agrees"
    numbers = evidence.numbers
    assert numbers["slope_of_log_lifetime"] == pytest.approx([1], rel=0.02)
    assert numbers["moved_before_a_tenth"] < 0.02
    assert numbers["share_of_rise_at_merges"] > 0.99
    assert numbers["share_of_log_time_at_merges"] < 0.25
    presentable(full_metastable.CLAIM, evidence)


def test_a_lifetime_that_is_a_tenth_longer_is_refuted(distort, verdict):
    distort(full_metastable, "meeting_time", lambda time: 1.1 * time)
    few = {"BETAS": (8.0, 9.0, 10.0, 11.0), "staircase": lambda setup: (1.0, 0.1, ())}
    assert verdict(full_metastable, **few) == "contradicts"


def test_an_energy_that_rises_between_merges_is_refuted(verdict):
    rising = {"BETAS": (), "staircase": lambda setup: (0.5, 0.1, ())}
    assert verdict(full_metastable, **rising) == "contradicts"


def test_the_meeting_time_for_large_beta():
    phi, beta = 1.2, 60.0
    short = math.exp(beta * (1 - math.cos(phi))) / ((2 + 0.5) * beta * math.sin(phi) ** 2)
    assert full_metastable.meeting_time(beta, phi, 4, 8) == pytest.approx(short, rel=0.02)


def test_groups_are_separated():
    tokens, label = full_metastable.groups(3, np.random.default_rng(1))
    assert full_metastable.spread(tokens, label) < 2 * full_metastable.WIDTH
    assert np.bincount(label).tolist() == list(full_metastable.GROUPS)
