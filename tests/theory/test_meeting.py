"""T(φ, m) against quadrature, a simulation and its asymptotic form."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

import parkade as pk
from parkade.theory.meeting import cluster_radius, log_meeting_time


@pytest.mark.parametrize("beta", [0.0, 0.5, 3.0, 49.0, 51.0, 300.0])
@pytest.mark.parametrize("mass", [1.0, 40.0])
def test_it_is_the_integral(beta, mass):
    r = cluster_radius(beta)
    for angle in (1.05 * r, 0.3, 1.5, 3.0):

        def slowness(p, angle=angle):
            shift = beta * (1 - math.cos(angle))
            weight = math.exp(beta * (1 - math.cos(p)) - shift) / mass
            return (weight + math.exp(-shift)) / math.sin(p)

        exact = quad(slowness, r, angle, limit=500, epsabs=0, epsrel=1e-12)[0]
        expected = math.log(exact) + beta * (1 - math.cos(angle))
        assert log_meeting_time(angle, beta, mass) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("beta", "angle", "mass"), [(16.0, 1.2, 1), (64.0, 1.0, 12), (4.0, 3.0, 3)]
)
def test_two_clusters_meet_when_it_says(beta, angle, mass):
    x0 = pk.sphere.from_angles([0.0] * mass + [angle])
    predicted = float(log_meeting_time(angle, beta, mass))
    run = pk.simulate(pk.Attention(2, beta), x0, 10 * math.exp(predicted), tol=1e-9)
    [merge] = [event for event in run.merge_tree().events if event.time > 0]
    assert math.log(merge.time) == pytest.approx(predicted, abs=1e-6)


def test_late_meetings_take_the_asymptotic_time():
    """The error decreases like 1/β."""
    angle = 1.3
    gaps = []
    for beta in (100.0, 200.0):
        rough = beta * (1 - math.cos(angle)) - math.log(beta * math.sin(angle) ** 2)
        gaps.append(float(log_meeting_time(angle, beta)) - rough)
    assert abs(gaps[1]) < 0.02
    assert gaps[0] / gaps[1] == pytest.approx(2.0, rel=0.05)


def test_edges():
    assert log_meeting_time(0.001, 64.0) == -np.inf
    assert log_meeting_time(math.pi, 64.0) == np.inf
    assert log_meeting_time([1.0, 2.0], 1000.0).shape == (2,)
    with pytest.raises(pk.InputError, match=r"mass must be ≥ 1, got 0\.5"):
        log_meeting_time(1.0, 1.0, 0.5)
    with pytest.raises(pk.InputError, match="angle"):
        log_meeting_time(4.0, 1.0)
