"""Influence on the last token: derivatives are right, and a wrong shape is refuted."""

import numpy as np
import pytest
from support.experiments import measured

import parkade as pk
from parkade.experiments.claims.field import lost_middle
from parkade.experiments.statistics import Mean

evidence = measured(lost_middle)


def test_the_profile_is_u_shaped(evidence, presentable):
    # Fails by chance with a probability of 1e-6: see allowed_sigmas.
    assert evidence.verdict == "agrees"
    presentable(lost_middle.CLAIM, evidence)


def test_influences_are_differences_of_simulations():
    A = lost_middle.weights(1.5)
    start = np.random.default_rng(1).uniform(-np.pi, np.pi, lost_middle.N)

    def move(t, x):
        turn, _ = lost_middle.velocity(pk.sphere.angles(x)[None], A)
        return turn[0][:, None] * np.column_stack([-x[:, 1], x[:, 0]])

    def last(theta):
        flow = pk.Flow(move, d=2, causal=True, autonomous=True)
        run = pk.simulate(flow, pk.sphere.from_angles(theta), 1.0, tol=1e-10, method="explicit")
        return pk.sphere.angles(run.final)[-1]

    end, slope = lost_middle.influences(start[None], A, 1.0)
    assert np.cos(end[0] - last(start)) == pytest.approx(1)
    for j in (0, 20, 47):
        step = 1e-4 * np.eye(lost_middle.N)[j]
        difference = (last(start + step) - last(start - step)) / 2e-4
        assert slope[0, j] == pytest.approx(difference, rel=1e-3, abs=1e-6)


def test_the_limit_is_the_closed_form():
    from scipy.special import iv

    rate, tau, s = 1.5, iv(1, 1.0), 0.5
    L = np.log(np.expm1(rate) / np.expm1(rate * s))
    limit = (
        rate * np.exp(rate * s) / np.expm1(rate) * np.sqrt(tau / L) * iv(1, 2 * np.sqrt(tau * L))
    )
    value = lost_middle.predicted(rate)[lost_middle.N // 2] * lost_middle.N
    assert value == pytest.approx(limit, rel=0.1)


@pytest.mark.parametrize("wrong", ["closed form", "measured"])
def test_another_profile_is_refuted(evidence, quick, monkeypatch, wrong):
    def measured(rate, *others):  # as it was columns
        columns = (evidence.numbers[name][str(rate)] for name in ("n times influence", "errors"))
        means = [Mean(m / lost_middle.N, e / lost_middle.N) for m, e in zip(*columns, strict=True)]
        return means if wrong == "closed form" else [Mean(2 * m.value, m.error) for m in means]

    right = lost_middle.predicted
    factor = 1.5 if wrong == "closed form" else 1.0
    monkeypatch.setattr(lost_middle, "profile", measured)
    monkeypatch.setattr(lost_middle, "predicted", lambda *a: factor * right(*a))
    assert lost_middle.measure(quick).verdict == "contradicts"
