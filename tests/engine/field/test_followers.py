"""Followers of transformers: factors of weights against all tokens at their leaders' places."""

from __future__ import annotations

import numpy as np
import pytest
from support.charts import assert_solves
from support.crowds import Crowd, random_leaders, resting
from support.marks import seeds
from support.steps import implicit_step
from support.transformers import NORMS, random_state, random_transformer

import parkade as pk
from parkade.engine.field.field import EVERYTHING
from parkade.engine.rest.field_rest import set_factors
from parkade.solve.lowering.frame import transformer_frame
from parkade.solve.lowering.lower import prepare_field


def lowered(model):
    return prepare_field(model, transformer_frame(model, long=False))


def factors_of(field, leader):
    """The factors of the weights of moving tokens, if the others rest on these leaders."""
    rest = resting(leader)
    m = len(rest.moving)
    factors = np.zeros((len(field.slopes), m, m))
    set_factors(field, rest.moving, rest.state.rows, factors)
    return factors


def reduced(field, crowd):
    """The field of the tokens that move."""
    factors = factors_of(field, crowd.leader)
    return field._replace(followers=factors, slopes=np.zeros_like(field.slopes), window=EVERYTHING)


def two_heads(low=None, seed=1, **options):
    """A transformer with two heads, the second one with values of low rank if so asked."""
    rng = np.random.default_rng(seed)
    Q, K, V = rng.standard_normal((3, 4, 4)) / 2
    other = np.outer(*rng.standard_normal((2, 4))) if low else V
    return pk.Transformer([pk.Head(d=4, beta=4.0), pk.Head(Q, K, other, beta=2.0)], **options)


def check_reduced(model, leader, seed=0, *, solves=True):
    """Velocities and blocks of the moving tokens are those of all; and so are linear systems.

    These are compared with differences of the definition, which lose digits where systems are far
    from well conditioned.
    """
    crowd = Crowd(model, leader)
    state, field = random_state(model, len(crowd.moving), seed), lowered(model)
    part = reduced(field, crowd)
    if solves:
        assert_solves(part, crowd, state)
    everyone = implicit_step(field, state[crowd.rows], 1.0).lin
    alone = implicit_step(part, state, 1.0).lin
    for name in ("velocity", "blocks", "own", "mean", "force"):
        one, other = getattr(everyone, name)[crowd.moving], getattr(alone, name)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12 * np.abs(one).max())
    return implicit_step(field, state, 1.0).lin.velocity, alone.velocity


MODELS = {
    "two heads": two_heads(),
    "low rank": two_heads(low=True),
    "window": two_heads(mask=pk.Window(9)),
    "alibi": two_heads(position=pk.Alibi([0.3, 0.02])),
    "alibi in a window": two_heads(position=pk.Alibi([0.0, 0.1]), mask=pk.Window(11)),
    "pre-norm": two_heads(norm="pre"),
    "MLP": two_heads(mlp=pk.MLP.random(4, 8, seed=2)),
}


@pytest.mark.parametrize("name", MODELS)
def test_moving_tokens_move_as_among_all_tokens(name):
    for seed in (1, 2):
        without, alone = check_reduced(MODELS[name], random_leaders(24, 7, 3, seed))
        assert np.abs(without - alone).max() > 1e-3 * np.abs(without).max()  # followers count


@pytest.mark.parametrize("norm", NORMS)
@seeds(3, 200)
def test_random_transformers(seed, norm):
    masks = ("causal", "window(3)", "window(9)")
    model = random_transformer(seed, masks=masks, norms=(norm,), mlp=False)
    if isinstance(model.position, pk.Rope):
        model = pk.Transformer(model.heads, norm=model.norm, mask=model.mask)
    check_reduced(model, random_leaders(20, 6, 3, seed), seed, solves=seed < 3)


def test_factors_count_what_each_token_sees():
    """Tokens 1, 3 and 4 rest on 0; window(3) shows token 5 only 3 and 4, and token 2 all of 0, 1.

    With a slope, each of them counts by its own distance.
    """
    model = pk.Transformer(
        [pk.Head(d=2), pk.Head(d=2)], position=pk.Alibi([0.0, 1.0]), mask=pk.Window(3)
    )
    plain, sloped = factors_of(lowered(model), [0, 0, 2, 0, 0, 5])
    assert plain.tolist() == [[1, 0, 0], [2, 1, 0], [2, 0, 1]]
    e = np.exp
    np.testing.assert_allclose(sloped, [[1, 0, 0], [e(-2) + e(-1), 1, 0], [e(-2) + e(-1), 0, 1]])
