"""Distances of tokens from their leaders by sums over lumps, against sums over all tokens."""

from __future__ import annotations

import numpy as np
import pytest
from support.common import random_model
from support.crowds import Crowd
from support.steps import implicit_step

import parkade as pk
from parkade.engine.rest import leaders, lumps
from parkade.engine.rest.lumps import Tokens
from parkade.engine.system import LOG2E
from parkade.solve.lowering.lower import prepare

FORCES = {2: 64.0, 3: 32.0, 5: 16.0}
"""β by dimension."""


def clusters(d, n, groups, spread, seed):
    """Tokens in clusters around the first few of them, in any order."""
    rng = np.random.default_rng(seed)
    centres = pk.sphere.uniform(groups, d, seed=seed)
    own = np.concatenate([np.arange(groups), rng.integers(0, groups, n - groups)])
    x = centres[own] + spread * rng.standard_normal((n, d))
    return x / np.linalg.norm(x, axis=1)[:, None], own


def lags(system, model, x, tokens):
    """By lumps, or None if there are too many."""
    lag = np.full(len(tokens.rows), np.nan)
    sharpness = float(np.linalg.norm(system.query, 2)) / LOG2E
    return lag if lumps.set_lags(system, x, tokens, sharpness, lag) else None


def exact(system, x, leader):
    """By velocities and blocks of all tokens."""
    lin, lag = implicit_step(system, x, 1.0).lin, np.empty(len(x))
    scale = np.linalg.norm(system.value) / np.sqrt(len(system.value))
    scales = np.full(len(x), scale)
    leaders.set_lags(x, lin.velocity, lin.blocks, scales, x.shape[1], np.asarray(leader), lag)
    return lag


def model_of(kind, d):
    """The simplest model, or one with matrices whose values pull tokens together."""
    if kind == "I":
        return pk.Attention(d, FORCES[d])
    any_matrices = random_model(d, 3.0, seed=d)
    V = np.eye(d) + 0.2 * np.random.default_rng(d).standard_normal((d, d))
    return pk.Attention(d, 3.0, Q=any_matrices.Q, K=any_matrices.K, V=V @ V.T)


@pytest.mark.parametrize("d", FORCES)
@pytest.mark.parametrize("kind", ["I", "any"])
@pytest.mark.parametrize("held", [False, True], ids=["free", "frozen"])
def test_lags_are_those_of_all_tokens(kind, held, d):
    """Tokens rest on the first of their cluster, and are where it is, or move nearby."""
    model = model_of(kind, d)
    fixed = (pk.sphere.uniform(3, d, seed=3), np.array([1.0, 2.5, 4.0])) if held else ()
    system = prepare(model, *fixed)
    for seed in range(5):
        x, own = clusters(d, 120, 6, 1e-6, seed)
        leader = np.where(np.arange(120) % 3 == 0, np.arange(120), own)
        leader[:6] = np.arange(6)
        crowd = Crowd(model, leader)
        places = x[crowd.moving]
        tokens = Tokens(crowd.moving, crowd.rows, leader)
        result = lags(system, model, places, tokens)
        expected = exact(system, places[crowd.rows], leader)
        known = np.isfinite(expected)
        assert known[leader != np.arange(120)].any()
        assert np.array_equal(np.isfinite(result), known)
        assert (result[leader == np.arange(120)] == 0.0).all()
        scale = expected[known].max()  # of what cancels where a distance is small
        assert result[known] == pytest.approx(expected[known], rel=0.05, abs=0.01 * scale)


def test_the_mean_of_a_lump_counts():
    """Displaced tokens pull those after them; a sum of counts alone would not see it."""
    x = pk.sphere.from_angles([0.0, 1e-5, 1e-5, 0.0])
    system = prepare(pk.Attention(2, 64.0))
    leader = np.array([0, 1, 2, 0])
    result = lags(system, None, x, Tokens(np.arange(4), np.arange(4), leader))
    assert result == pytest.approx(exact(system, x, leader), rel=1e-3)
    assert result[3] > 5e-6


def test_nothing_is_known_if_tokens_are_everywhere():
    x = pk.sphere.uniform(3000, 2, seed=1)
    system = prepare(pk.Attention(2, 1e4))
    tokens = Tokens(np.arange(3000), np.arange(3000), np.arange(3000))
    assert lags(system, None, x, tokens) is None


def test_lumps_become_wider_where_there_are_many():
    """With 600 places, each score between lumps differs by some percent, and so do lags."""
    x, own = clusters(2, 600, 5, 1e-2, seed=2)
    leader = np.arange(600)
    leader[300:] = own[300:]
    system = prepare(pk.Attention(2, 64.0))
    result = lags(system, None, x, Tokens(np.arange(600), np.arange(600), leader))
    expected = exact(system, x, leader)
    assert result == pytest.approx(expected, rel=0.3)
