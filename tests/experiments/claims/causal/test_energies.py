import numpy as np
import pytest
from support.experiments import fewer, measured

import parkade as pk
from parkade import theory
from parkade.experiments.claims.causal import energies

quick = fewer(2)  # half of the starts
evidence = measured(energies)


def test_tokens_descend(evidence, presentable):
    numbers = evidence.numbers
    assert evidence.verdict == "agrees"
    assert 0 < numbers["velocity_minus_gradient"] < energies.ROUNDING
    assert numbers["largest_rise_frozen"] < numbers["allowed_rise"]
    assert 0.05 < numbers["share_rising_unfrozen"] < 0.5
    assert len(presentable(energies.CLAIM, evidence).axes) == 2


@pytest.mark.parametrize("factor", [-1.0, 1.001])
def test_a_wrong_energy_is_refuted(distort, verdict, factor):
    distort(theory, "sequential_energies", lambda energy: factor * energy)
    assert verdict(energies, DIMENSIONS={2: True}) == "contradicts"


def test_an_energy_that_rises_is_refuted(quick, monkeypatch):
    # Gradients agree, but the run goes the other way.
    true = energies.simulate

    def wrong(model, x, end, *, frozen=None, tol):
        return true(
            pk.Attention(d=model.d, beta=model.beta, V=-1.0), x, end, frozen=frozen, tol=tol
        )

    monkeypatch.setattr(energies, "simulate", wrong)
    monkeypatch.setattr(energies, "DIMENSIONS", {2: True})
    result = energies.measure(quick)
    assert result.numbers["velocity_minus_gradient"] < energies.ROUNDING
    assert result.verdict == "contradicts"


def test_rises():
    assert energies.rise(np.array([0.0, -2.0, -1.5, -3.0, -2.9])) == 0.5 * energies.BETA
    assert energies.rise(np.array([1.0, 0.5, 0.5])) == 0
