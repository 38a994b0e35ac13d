import math

import numpy as np
import pytest
from support.experiments import computed_once, fewer, measured

import parkade as pk
from parkade import theory
from parkade.experiments.claims.causal import renyi_count
from parkade.experiments.statistics import mean


@pytest.fixture(scope="module", autouse=True)
def three_deltas():
    """Three of the five; the same tokens are parked once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(renyi_count, "DELTAS", (renyi_count.FIGURE_2, 2 * math.pi / 3.5, 0.2))
        computed_once(patch, renyi_count, "saturate", lambda x, delta, rng: (delta, x.tobytes()))
        yield


quick = fewer(2)  # half of the samples: a count three percent off is still refuted
evidence = measured(renyi_count)


def test_the_count_is_renyis(evidence, presentable):
    numbers = evidence.numbers
    assert evidence.verdict == "agrees"
    assert numbers["counts"] == pytest.approx(numbers["expected"], rel=0.01)
    among_first = np.array(numbers["counts_among_first"])
    assert (among_first < numbers["counts"]).all()
    assert len(presentable(renyi_count.CLAIM, evidence).axes) == 1


@pytest.mark.parametrize("factor", [0.97, 1.03])
def test_a_count_three_percent_off_is_refuted(distort, verdict, factor):
    distort(theory, "expected_renyi_centers", lambda count: factor * count)
    assert verdict(renyi_count, DELTAS=(renyi_count.FIGURE_2,)) == "contradicts"


@pytest.mark.parametrize("delta", [0.1, 1.0, 2.5])
def test_saturated_means_that_no_token_fits(delta):
    rng = np.random.default_rng(1)
    tokens, centers = renyi_count.saturate(pk.sphere.uniform(5, 2, rng), delta, rng)
    places = pk.sphere.from_angles(np.linspace(0, 2 * math.pi, 10_000))
    free = np.ones(len(places), dtype=bool)
    for k in centers:
        free &= pk.sphere.distance(places, tokens[k]) > delta
    assert not free.any()


def test_many_plain_tokens_give_the_same_count():
    # The gap to infinitely many falls like 1/n: at n = 5000 it is below 0.004 of 9.39, an eighth
    # of the standard error.
    rng = np.random.default_rng(2)
    delta = renyi_count.FIGURE_2
    plain = [len(pk.renyi_centers(pk.sphere.uniform(5000, 2, rng), delta)) for _ in range(400)]
    # Farther off with a probability of 6e-5; the seed is fixed.
    assert mean(plain).sigmas(theory.expected_renyi_centers(delta)) < 4
