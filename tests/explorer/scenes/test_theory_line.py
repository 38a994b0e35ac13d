"""What is predicted, what was seen, and whether they agree."""

from __future__ import annotations

import pytest

import parkade as pk
from parkade.explorer import scene
from parkade.explorer.scenes.theory_line import theory_line


@pytest.mark.parametrize(
    ("settings", "agrees", "predicted", "seen"),
    [
        ({"V": "I", "T": 1e9}, True, "every token ends at x_1(0) (Theorem 4.1)", "1 cluster at"),
        ({"V": "I", "T": 20}, None, "every token", "the run ends before it comes to rest"),
        ({"V": "1,1,-1", "T": 1e6}, True, "one point of L", "1 cluster in L"),
        ({"V": "1,0.5,0.25", "T": 1e4}, True, "two points ±ξ", "2 clusters in L"),
        ({"V": "-1,-1,-2"}, True, "a cloud around L", "of L at t = 1000"),
        ({"V": "-1,-2,-2"}, True, "two clouds around ±ξ", "of L at t = 1000"),
        ({"V": "1,-1,0;1,1,0;0,0,0"}, True, "keeps turning in its plane", "in L"),
        ({"V": "0"}, None, "no token moves", "clusters at"),
        ({"d": 5, "V": "-1,-1,-2,-2,-2", "T": 20}, None, "a cloud around L", "of L"),
        ({"mask": "full", "T": 20}, None, "is for the causal mask", "clusters at"),
        ({"mask": "window", "T": 20}, None, "Nothing: the table", "clusters at"),
        ({"norm": "pre", "T": 20}, None, "for a single head under post-norm", "clusters at t = 20"),
        ({"mlp": 4, "T": 20}, None, "for a single head under post-norm", "cluster"),
    ],
)
def test_the_line_of_theory(settings, agrees, predicted, seen):
    line = scene({"n": 32, **settings})["theory"]
    assert line["agrees"] is agrees
    assert predicted in line["predicted"]
    assert seen in line["seen"]


def test_a_counterexample_disagrees():
    """Two tokens that rest away from ±ξ, for general Q and K."""
    model = pk.Attention(V=[1, 0.5], beta=8.0, Q=[[0, -1], [1, 0]])
    for seed in range(20):
        run = pk.simulate(model, pk.sphere.uniform(2, 2, seed), 1e9)
        if theory_line(run, 2)["agrees"] is False:
            return
    pytest.fail("none of the runs disagrees")


def test_frozen_centres_capture_as_predicted():
    line = scene({"n": 200, "d": 2, "beta": 64, "frozen": "strong", "T": 1e4})["theory"]
    assert line["agrees"] is True
    assert "Theorem 5.2 applies" in line["predicted"]
    line = scene({"n": 20, "d": 3, "beta": 9, "c": 1, "frozen": "strong", "T": 10})["theory"]
    assert line["agrees"] is None
    assert "is for the circle" in line["predicted"]
