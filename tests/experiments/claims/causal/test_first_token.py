"""Lemma 3.1 is seen, and a wrong formula too."""

import numpy as np
import pytest
from support.experiments import changed, measured

from parkade import theory
from parkade.experiments.claims.causal import first_token

another_dimension = changed(first_token, D=5)  # whose engine other tests need as well
evidence = measured(first_token)


def test_the_lemma_is_confirmed(evidence, presentable):
    assert evidence.verdict == "agrees"
    assert 0 < evidence.numbers["worst error"] < 1e-7
    assert max(evidence.numbers["largest error over tol times steps"].values()) < 1
    for rates in evidence.numbers["rates"].values():
        np.testing.assert_allclose(rates, -1, atol=0.02)
    presentable(first_token.CLAIM, evidence)


@pytest.mark.parametrize("stretch", [1 + 1e-5, -1.0])
def test_another_formula_is_refuted(quick, monkeypatch, stretch):
    exact = theory.first_token
    monkeypatch.setattr(theory, "first_token", lambda V, x, t: exact(V, x, np.multiply(t, stretch)))
    monkeypatch.setattr(first_token, "SPECTRA", {"symmetric": 1e3, "Jordan block of 2": 1e4,
                                                 "Jordan block of 3": 1e3})  # fmt: skip
    assert first_token.measure(quick).verdict == "contradicts"
