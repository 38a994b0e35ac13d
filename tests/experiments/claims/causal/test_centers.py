"""Strong centres stay and Rényi centres cover more: seen, and its opposite too."""

import numpy as np
import pytest
from support.experiments import measured

from parkade.experiments.claims.causal import centers

evidence = measured(centers)


def test_strong_centers_stay_and_renyi_centers_cover(evidence, presentable):
    numbers = evidence.numbers
    assert evidence.verdict == "agrees"
    assert numbers["within_radius_strong"] > 0.95 > 0.4 > numbers["within_radius_other_renyi"]
    assert numbers["consumed_renyi"] > 0.97 > 0.94 > numbers["consumed_strong"]
    assert numbers["consumed_strong"] < numbers["consumed_control"] < numbers["consumed_renyi"]
    assert len(presentable(centers.CLAIM, evidence).axes) == 2


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda run: run, "agrees"),
        (lambda run: run._replace(strong=run.weak, weak=run.strong), "contradicts"),
        (lambda run: run._replace(shares=run.shares[[2, 1, 0]]), "contradicts"),
        (lambda run: run._replace(shares=run.shares[[2, 1, 2]]), "undecided"),
    ],
    ids=["true", "strong centres move", "others cover more", "all cover the same"],
)
def test_what_is_not_so_is_seen(distort, verdict, change, expected):
    distort(centers, "look", change)
    assert verdict(centers, END=20.0, TIMES=np.array([0.0, 20.0])) == expected


def test_the_sign_test():
    assert centers.sign_test(3, 0) == pytest.approx(2 / 8)
    assert centers.sign_test(0, 3) == pytest.approx(2 / 8)
    assert centers.sign_test(5, 5) == 1
    assert centers.signs([1.0, -2.0, 0.0, 3.0]) == (2, 1)
