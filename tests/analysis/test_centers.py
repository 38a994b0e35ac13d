"""Centres by name, their separation, and the radius within which they consume."""

from __future__ import annotations

import math

import numpy as np
import pytest

import parkade as pk
from parkade.analysis.centers import KINDS, consumption_radius, separation
from parkade.explorer import scene


def test_kinds_are_the_public_functions():
    assert {"renyi": pk.renyi_centers, "strong": pk.strong_renyi_centers} == KINDS


@pytest.mark.parametrize(
    ("c", "beta", "expected"),
    [(4, 64, 0.5), (2, 9, 2 / 3), (4, 1, math.pi), (4, 0, math.pi), (1e-3, 1e-9, math.pi)],
)
def test_separation(c, beta, expected):
    assert separation(c, beta) == expected


@pytest.mark.parametrize(
    ("beta", "expected"), [(64, 0.0625), (4, 0.25), (1, 0.5), (0.5, 0.5), (0, 0.5)]
)
def test_the_radius_of_consumption_is_one_for_all(beta, expected):
    """Ensembles and the explorer count the same tokens, also for β < 1."""
    assert consumption_radius(beta) == expected
    assert scene({"n": 4, "d": 2, "beta": beta, "T": 1})["consumption"]["radius"] == expected
    options = {"n": 40, "d": 2, "beta": beta, "times": [0.0, 1.0], "measure": "consumption"}
    shares = [
        pk.ensemble(runs=2, t_end=1.0, seed=1, radius=radius, **options)
        for radius in (None, expected)
    ]
    np.testing.assert_array_equal(*(data["consumed"] for data in shares))
