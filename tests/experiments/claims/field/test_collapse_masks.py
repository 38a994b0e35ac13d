"""Rank collapse: as linearised, and wrong rates are refuted."""

import numpy as np
from support.experiments import changed, measured

from parkade.experiments.claims.field import collapse_masks
from parkade.model.parts.mask import Window, read

small = changed(collapse_masks, NUMBERS=(16, 24))
evidence = measured(collapse_masks)


def test_collapse_is_as_derived(evidence, presentable):
    assert evidence.verdict == "agrees"
    assert evidence.numbers["ranks"] == [1, 2, 3, 4, 5, 6]
    presentable(collapse_masks.CLAIM, evidence)


def test_late_factors():
    assert collapse_masks.factor(read("full"), 9) == 0.25
    assert collapse_masks.factor(read("causal"), 9) == 0.75**2
    assert collapse_masks.factor(Window(3), 9) == 0.75**2


def test_the_equilibria_are_not_stable(evidence):
    rates = evidence.numbers["return rates, by rank"]
    assert max(rates) < 0


def test_another_layer_is_refuted(verdict):
    def sluggish(mask, n):
        seen = mask.sees(n).astype(np.float64)
        return (np.eye(n) * 2 + seen / seen.sum(axis=1, keepdims=True)) / 3

    assert verdict(collapse_masks, linear=sluggish) == "contradicts"
