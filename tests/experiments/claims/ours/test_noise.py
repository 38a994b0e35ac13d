"""The claims on noise: formulas against others, verdicts, and that they can fail."""

import dataclasses

import numpy as np
import pytest
from scipy.integrate import quad

from parkade.experiments.claims.common import noisy_ends
from parkade.experiments.claims.field import noise_kind
from parkade.experiments.claims.ours import noise_threshold
from parkade.experiments.claims.ours.noise_threshold import (
    Point,
    chance,
    estimate,
    expected,
    threshold,
)


@pytest.mark.parametrize("d", [2, 3, 5])
def test_first_harmonic_is_an_integral(d):
    weight = quad(lambda a: np.sin(a) ** (d - 2), 0, np.pi)[0]
    first = quad(lambda a: np.sin(a) ** (d - 2) * np.cos(a) * np.exp(1.5 * np.cos(a)), 0, np.pi)[0]
    assert noise_threshold.harmonic(1, d, 1.5) == pytest.approx(first / weight, rel=1e-10)
    assert threshold(d, 1e-4) == pytest.approx(d, rel=1e-6)


def test_means_of_the_claimed_law_pass_and_others_do_not():
    rng = np.random.default_rng(1)
    critical = threshold(2, 1.0)
    point = Point(2, 1.0, 2 * critical, 1.2 * critical, np.ones(1))
    # n|a|² is half its mean times a χ² of two degrees of freedom.
    squares = expected(point) * rng.exponential(size=3000)
    right = point._replace(squares=squares)
    assert chance(right) > 1e-6
    assert estimate(right) == pytest.approx(critical, rel=0.1)
    assert chance(point._replace(squares=1.3 * squares)) < 1e-6


def test_threshold_agrees_for_a_small_sample(quick, monkeypatch):
    monkeypatch.setattr(noise_threshold, "CASES", ((3, 1.0),) * 2)
    monkeypatch.setattr(noise_threshold, "N", 32)
    small = dataclasses.replace(quick, seed=1)
    simulate_many = noise_threshold.simulate_many
    monkeypatch.setattr(
        noise_threshold,
        "simulate_many",
        lambda m, starts, t, **k: simulate_many(m, starts[:6], t, **k),
    )
    evidence = noise_threshold.measure(small)
    assert evidence.verdict == "agrees"


@pytest.mark.parametrize(("d", "star"), [(2, 2.45), (3, 1.82)])
def test_the_kind_changes_where_the_paper_says(d, star, monkeypatch):
    monkeypatch.setattr(noise_kind, "TILTS", np.concatenate([[0.02], np.geomspace(0.3, 4.0, 24)]))
    assert noise_kind.changes_at(d) == pytest.approx(star, abs=0.005)
    for beta in (0.5 * star, 2 * star):
        curve = noise_kind.branch(d, beta)
        slope = (curve.kappa[0] - 1) / 0.02**2
        assert slope == pytest.approx(noise_kind.slope(d, beta), abs=1e-3)
        assert noise_kind.is_gradual(curve) == (beta < star)
        assert noise_kind.is_sudden(curve) == (beta > star)


def test_a_branch_solves_the_stationary_equation(monkeypatch):
    """On the circle: μ ∝ exp((κ/β) K*μ), by quadrature on a grid."""
    monkeypatch.setattr(noise_kind, "TILTS", np.array([1.5]))
    curve = noise_kind.branch(2, 4.0)
    angles = 2 * np.pi * np.arange(400) / 400
    kappa = curve.kappa[0] * threshold(2, 4.0)
    kernel = np.exp(4.0 * np.cos(angles[:, None] - angles)) / 400
    law = np.exp(1.5 * np.cos(angles))
    for _ in range(400):  # keep the order, and let the rest follow
        law /= law.mean()
        law = 0.5 * law + 0.5 * (new := np.exp(kappa / 4.0 * kernel @ law)) / new.mean()
        tilt = np.linspace(-1, 1, 3)
        orders = [np.mean(np.cos(angles) * (v := law * np.exp(s * np.cos(angles))) / v.mean())
                  for s in tilt]  # fmt: skip
        law = law * np.exp(np.interp(curve.order[0], orders, tilt) * np.cos(angles))
    law /= law.mean()
    new = np.exp(kappa / 4.0 * kernel @ law)
    np.testing.assert_allclose(law, new / new.mean(), atol=2e-3)


def test_clusters_with_noise_live_for_about_kappa(quick, monkeypatch):
    monkeypatch.setattr(noisy_ends, "SAVED", 40)
    one = noisy_ends.wander(100.0, 0, quick, 8, 4.0)
    assert one.away > 0
    assert np.isfinite(one.one)
    wanders = {100.0: [one, one._replace(one=np.inf)]}
    assert noisy_ends.medians(wanders) == [one.one]
    assert not noisy_ends.is_lost({100.0: [one._replace(one=np.inf)]})
    assert noisy_ends.rows(wanders)[0][:2] == ["noise κ=100", "0/2"]
