"""Hardmax attention: tokens end at leaders, and other maps are refuted."""

import numpy as np
import pytest
from support.experiments import fewer, measured

from parkade.experiments.claims.field import hardmax

quick = fewer(3)  # one start of each kind
evidence = measured(hardmax)


def test_tokens_end_at_leaders_or_means(evidence, presentable):
    assert evidence.verdict == "agrees"
    assert evidence.numbers["tokens at means of leaders"] > 0
    assert evidence.numbers["share at leaders"]["random"] == 1
    presentable(hardmax.CLAIM, evidence)


def test_a_token_between_two_leaders_ends_at_their_mean():
    x = np.array([[1.0, 1.0], [1.0, -1.0], [0.25, 0.0], [0.5, 0.25]])
    run = hardmax.follow(x, 1.0, 40)
    assert run.leads.tolist()[:2] == [True, True]
    np.testing.assert_allclose(run.path[-1], [[1, 1], [1, -1], [1, 0], [1, 1]], atol=1e-9)


@pytest.mark.parametrize("share", [0.0, 0.9])
def test_softer_attention_is_refuted(verdict, share):
    def soft(x, tie=0.0):  # all tokens with a product above a share of the largest
        scores = x @ x.T
        return scores >= share * scores.max(axis=1, keepdims=True)

    assert verdict(hardmax, attended=soft) == "contradicts"
