"""The clocks of normalisations are seen, and wrong ones refuted."""

import numpy as np
import pytest
from support.experiments import changed, measured

from parkade.experiments.claims.field import norm_rates
from parkade.model import sphere

# Another dimension in the first size, whose engine other tests need as well.
(_n, _, _beta), *_others = norm_rates.SIZES
compiled_dimension = changed(norm_rates, SIZES=((_n, 5, _beta), *_others))
evidence = measured(norm_rates)


def test_every_rate_is_as_derived(evidence, presentable):
    assert evidence.verdict == "agrees"
    for mask, exponent in norm_rates.EXPONENTS.items():
        slopes = evidence.numbers["exponents"][mask]
        assert len(slopes) == 6
        assert all(s == pytest.approx([exponent], rel=0.02) for s in slopes.values())
    presentable(norm_rates.CLAIM, evidence)


def test_the_rates_of_full_attention_are_wrong_for_causal_attention(verdict):
    wrong = {"EXPONENTS": {"causal": 2.0}, "SCHEMES": norm_rates.SCHEMES[:1]}
    assert verdict(norm_rates, **wrong) == "contradicts"


def test_a_clock_that_is_three_percent_slow_is_refuted(verdict):
    slow = norm_rates.SCHEMES[1]._replace(times=lambda c: np.exp(c * 0.97))
    assert verdict(norm_rates, EXPONENTS={"full": 2.0}, SCHEMES=(slow,)) == "contradicts"


def test_the_variance_is_one_minus_the_square_of_the_mean():
    x = sphere.uniform(7, 3, seed=1)
    assert norm_rates.variance(x) == pytest.approx(1 - np.sum(x.mean(axis=0) ** 2), rel=1e-13)
