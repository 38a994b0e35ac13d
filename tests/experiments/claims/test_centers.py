import numpy as np
import pytest

import parkade as pk
from parkade.experiments.claims import census, centers
from parkade.experiments.claims.claim import Effort
from parkade.plots import new_figure

EFFORT = Effort(quick=True, seed=0, report=lambda fraction: None)


@pytest.fixture(scope="module")
def evidence():
    return centers.measure(EFFORT)


def test_strong_centers_stay_and_renyi_centers_cover(evidence):
    numbers = evidence.numbers
    assert evidence.verdict == "agrees"
    assert numbers["within_radius_strong"] > 0.95 > 0.4 > numbers["within_radius_other_renyi"]
    assert numbers["consumed_renyi"] > 0.97 > 0.94 > numbers["consumed_strong"]
    assert numbers["consumed_strong"] < numbers["consumed_control"] < numbers["consumed_renyi"]


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (lambda run: run, "agrees"),
        (lambda run: run._replace(strong=run.weak, weak=run.strong), "contradicts"),
        (lambda run: run._replace(shares=run.shares[[2, 1, 0]]), "contradicts"),
        (lambda run: run._replace(shares=run.shares[[2, 1, 2]]), "undecided"),
    ],
    ids=["true", "strong centres move", "others cover more", "all cover the same"],
)
def test_what_is_not_so_is_seen(monkeypatch, change, verdict):
    true = centers.look
    monkeypatch.setattr(centers, "look", lambda run, rng: change(true(run, rng)))
    monkeypatch.setattr(centers, "END", 20.0)
    monkeypatch.setattr(centers, "TIMES", np.array([0.0, 20.0]))
    assert centers.measure(EFFORT).verdict == verdict


def test_a_run_by_hand():
    # The third token is near the second, which is near the first: a Rényi centre, not strong.
    start = np.concatenate(
        [pk.sphere.from_angles([0, 0.4, 0.8, 3.0]), pk.sphere.uniform(196, 2, 1)]
    )
    run = pk.simulate(pk.Attention(d=2, beta=census.BETA), start, 20.0, times=[0.0, 20.0])
    seen = census.look(run, np.random.default_rng(0))
    moved = pk.sphere.distance(run.final, run.tokens[0])
    assert moved[3] in seen.strong
    assert moved[2] in seen.weak
    assert moved[1] not in np.append(seen.strong, seen.weak)
    assert (seen.shares[0] >= seen.shares[1]).all()


def test_the_sign_test():
    assert centers.sign_test(3, 0) == pytest.approx(2 / 8)
    assert centers.sign_test(0, 3) == pytest.approx(2 / 8)
    assert centers.sign_test(5, 5) == 1
    assert centers.signs([1.0, -2.0, 0.0, 3.0]) == (2, 1)


def test_it_can_be_drawn(evidence):
    figure = new_figure()
    centers.draw(evidence, figure)
    assert len(figure.axes) == 2
