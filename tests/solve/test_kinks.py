"""Kinks of ReLU: explicit steps do not jump over them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support.common import worst
from support.drift import Drift
from support.transformers import random_state

import parkade as pk
from parkade.engine.steps.kinks import loss, lost_forces
from parkade.engine.steps.tableau import DORMAND_PRINCE
from parkade.solve.lowering.frame import transformer_frame
from parkade.solve.lowering.lower import prepare_field
from parkade.solve.naive import kinks as naive_kinks

TOL = 1e-6
MODELS = [("sqrt", 5, 0, 18), ("pre", 3, 0, 13), ("ngpt", 3, 2, 2), ("peri", 3, 1, 9)]


def relu(norm, d, heads, seed, parts=()):
    drawn = {"beta": 2.0, "seed": seed} if heads else {}
    mlp = pk.MLP.random(d, seed=seed + 1)
    return pk.Transformer(heads or [], d=d, mlp=mlp, norm=norm, parts=parts, **drawn)


def states(run):
    if run.radii is None:
        return run.tokens
    return np.concatenate([run.tokens, np.log(run.radii)[..., None]], axis=-1)


def step_errors(run):
    """How far each step is from the solution that begins where it does."""
    ends = states(run)
    shape = ends[0].shape
    for i, (start, end) in enumerate(zip(run.times[:-1], run.times[1:], strict=True)):
        exact = solve_ivp(
            lambda t, y: run.model.change(y.reshape(shape), t=t).ravel(),
            (start, end),
            ends[i].ravel(),
            method="DOP853",
            rtol=1e-9,
            atol=1e-10,
            first_step=(end - start) / 3,
        )
        yield np.linalg.norm(exact.y[:, -1].reshape(shape) - ends[i + 1], axis=-1).max()


@pytest.mark.parametrize("case", MODELS, ids=lambda case: case[0])
def test_the_error_of_a_step_is_a_few_tol(case):
    """It was up to 100 tol where a neuron changes its sign."""
    model = relu(*case)
    run = pk.simulate(model, pk.sphere.uniform(4, model.d, seed=1), 3.0, tol=TOL, method="explicit")
    assert max(step_errors(run)) < 5 * TOL


@pytest.mark.parametrize("case", MODELS, ids=lambda case: case[0])
def test_the_naive_integrator_is_as_exact(case):
    """Steps end at kinks up to rounding, so they differ a little."""
    nothing = Drift(tuple(np.eye(case[1])[0]), 0.0)
    x0 = pk.sphere.uniform(4, case[1], seed=1)
    fast, naive = (
        pk.simulate(relu(*case, parts), x0, 3.0, tol=TOL, method="explicit")
        for parts in ((), (nothing,))
    )
    assert naive.stats.sums == "naive"
    assert naive.stats.steps == pytest.approx(fast.stats.steps, rel=0.2)
    assert worst(fast.final, naive.final) < 100 * TOL


@pytest.mark.parametrize("case", MODELS[:2], ids=lambda case: case[0])
def test_kernel(case):
    """By the naive twin, for a step that is too long."""
    model, h = relu(*case), 0.3
    frame, d = transformer_frame(model, long=False), model.d
    ends = np.stack([random_state(model, 6, 1), random_state(model, 6, 2)])
    stages = np.stack([np.asarray(model.change(ends[i // 6])) for i in range(7)])
    expected = naive_kinks.lost_forces(model.mlp, h, ends[..., :d], stages[::6, :, :d])

    ends[..., :d], stages[..., :d] = frame.enter(ends[..., :d]), frame.enter(stages[..., :d])
    lost = np.empty_like(ends[0])
    assert lost_forces(prepare_field(model, frame), h, *ends, stages, lost)
    np.testing.assert_allclose(lost[:, :2].T, expected, rtol=1e-9, atol=1e-12)


def quadrature_error(neuron):
    """What Dormand–Prince loses of ∫ max(z, 0) dτ, where z is given by a function."""
    points = (np.arange(100_000) + 0.5) / 100_000
    weights, nodes = DORMAND_PRINCE.A[6, :6], DORMAND_PRINCE.nodes[:6]
    return abs(np.maximum(neuron(points), 0).mean() - weights @ np.maximum(neuron(nodes), 0))


@pytest.mark.parametrize("slope", [2.0, -0.3])
def test_the_bound_of_a_kink(slope):
    for place in np.linspace(0.01, 0.99, 50):
        bound, where = loss(-slope * place, slope * (1 - place), slope, slope)
        assert where == pytest.approx(place)
        assert quadrature_error(lambda t, at=place: slope * (t - at)) <= 1.02 * bound


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("height", [1e-4, 0.01, 0.1])
def test_the_bound_of_a_bump(height, sign):
    for place in np.linspace(0.1, 0.9, 17):

        def neuron(t, at=place):
            return sign * ((t - at) ** 2 - height)

        slopes = -2 * sign * place, 2 * sign * (1 - place)
        bound, _ = loss(neuron(0.0), neuron(1.0), *slopes)
        assert quadrature_error(neuron) <= 1.02 * bound + 1e-9
