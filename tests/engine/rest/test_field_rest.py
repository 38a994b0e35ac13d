"""How far tokens of transformers are from their leaders, against the definition."""

from __future__ import annotations

import numpy as np
import pytest
from support.crowds import resting
from support.transformers import random_state

import parkade as pk
from parkade.engine.compile.jit import njit
from parkade.engine.rest import measures
from parkade.engine.rest.field_rest import FieldTokens
from parkade.engine.steps.clock import new_clock
from parkade.engine.steps.field_stages import workspace
from parkade.solve.lowering.frame import transformer_frame
from parkade.solve.lowering.lower import prepare_field

MODELS = {
    "two heads": pk.Transformer([pk.Head(d=2, beta=9.0), pk.Head(V=[1.0, 0.5], beta=2.0)]),
    "MLP": pk.Transformer([pk.Head(d=2, beta=4.0)], mlp=pk.MLP.random(2, 8, seed=1)),
    "pre-norm": pk.Transformer([pk.Head(d=2, beta=4.0)], norm="pre"),
}


@njit(allocates=True)
def measured(model, state, x, leader):
    """`measure`, which compiled code chooses by the model."""
    return measures.measure(model, state, x, leader)


def slope(model, state, k, step=1e-6):
    """How fast token k returns to its place on the circle: minus the change of its velocity."""
    turn, ends = np.array([[0.0, -1.0], [1.0, 0.0]]), []
    for sign in (1, -1):
        moved = state.copy()
        moved[k, :2] = np.cos(step) * moved[k, :2] + sign * np.sin(step) * turn @ moved[k, :2]
        ends.append(model.change(moved)[k, :2] @ turn @ moved[k, :2])
    return (ends[1] - ends[0]) / (2 * step)


@pytest.mark.parametrize("name", MODELS)
def test_lags_are_differences_of_velocities_by_rates(name):
    """On the circle, where the rate of a return is a number: 10 tokens at 4 places."""
    model, leader = MODELS[name], np.array([0, 0, 2, 0, 2, 5, 0, 7, 5, 2])
    field = prepare_field(model, transformer_frame(model, long=False))
    rest = resting(leader)
    part = random_state(model, len(rest.moving), 3)
    part[:, :2] = pk.sphere.from_angles([0.0, 0.4, 1.1, 2.0])
    everything = part[rest.state.rows]
    state = rest.state._replace(x=everything.copy())
    tokens = FieldTokens(field, workspace(field, len(leader), part.shape[1]).lin, new_clock())
    assert measured(tokens, state, part, leader)
    change = model.change(everything)
    some = 0
    for k, u in enumerate(leader):
        if k == u:
            assert state.lag[k] == 0.0
            continue
        rate = slope(model, everything, k)
        apart = np.linalg.norm(change[k, :2] - change[u, :2])
        if rate <= 0:
            assert state.lag[k] == np.inf
            continue
        some += np.isfinite(state.lag[k])
        expected = apart / rate
        if part.shape[1] > 2:
            growth = np.exp(everything[[k, u], 2]) * change[[k, u], 2]
            expected = max(expected, abs(np.diff(growth)[0]) / abs(growth).max())
        assert state.lag[k] == np.inf or state.lag[k] == pytest.approx(expected, rel=1e-5)
    assert some > 2


def test_resting_tokens_have_lengths_of_their_own():
    """r_k − r_u stays the same, and ln r_k changes by the share r_u/r_k of what ln r_u does."""
    rng = np.random.default_rng(1)
    tokens, dense = rng.normal(size=(3, 5, 3)), rng.normal(size=(3, 2, 5, 3))
    longer = np.array([0.0, 0.2, 0.0, 0.03, 0.0])
    logs, slopes = tokens[..., 2].copy(), dense[..., 2].copy()
    before = tokens[..., :2].copy(), dense[..., :2].copy()
    measures.lengthen(tokens, dense, longer)
    np.testing.assert_allclose(np.exp(tokens[..., 2]) - np.exp(logs), longer + 0 * logs, atol=1e-15)
    shares = np.exp(logs) / (np.exp(logs) + longer)
    np.testing.assert_allclose(dense[..., 2], slopes * shares[:, None], rtol=1e-14)
    assert np.array_equal(tokens[..., :2], before[0])
    assert np.array_equal(dense[..., :2], before[1])
