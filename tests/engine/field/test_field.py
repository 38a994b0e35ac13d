"""Kernels for transformers: velocities and linear systems against the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.charts import assert_solves
from support.common import worst
from support.steps import implicit_step, velocity_inside
from support.transformers import random_state, random_transformer

import parkade as pk
from parkade.engine.compile import wide
from parkade.engine.compile.jit import interpreted
from parkade.engine.field import linear as field_linear
from parkade.engine.field import velocity as field_velocity
from parkade.engine.field.narrow import is_narrow
from parkade.engine.field.projections import allocate_projections
from parkade.engine.flow.velocity import tick
from parkade.engine.system import SMALL_D, unrolled
from parkade.model.sphere import normalize
from parkade.solve.lowering.frame import transformer_frame
from parkade.solve.lowering.lower import prepare_field

MASKS = ("causal", "full", "window(1)", "window(3)", "prefix(1)", "prefix(4)")


def lowered(model, *, long=False, start=0.0):
    return prepare_field(model, transformer_frame(model, long=long), start)


@given(st.integers(0, 10**6), st.integers(1, 12), st.floats(0, 100))
def test_velocities_are_those_of_the_definition(seed, n, t):
    model = random_transformer(seed, masks=MASKS)
    state = random_state(model, n, seed)
    field = lowered(model)
    tick(field, t)
    result = field_velocity.velocity(field, state)
    expected = model.change(state, t=t)
    scale = 1 + np.abs(expected).max()
    assert worst(result, expected) < 1e-12 * scale


@pytest.mark.parametrize("d", [3, 12])
def test_bits_depend_neither_on_threads_nor_on_company(d):
    """Tokens of several chunks, shared out; within an engine; and many systems at once."""
    model = pk.Transformer(3, d=d, d_head=2, seed=1, beta=4.0, mlp=pk.MLP.random(d, seed=2))
    field = lowered(model)
    x = pk.sphere.uniform(300, d, seed=3)
    alone = field_velocity.velocity(field, x, threads=1)
    for threads in (2, 5):
        assert np.array_equal(field_velocity.velocity(field, x, threads=threads), alone)
    assert np.array_equal(velocity_inside(field, x), alone)
    batch = field_velocity.velocity(field, np.stack([x] * 5), threads=2)
    assert all(np.array_equal(one, alone) for one in batch)


def test_room_is_used_again_only_where_it_fits():
    """One after the other: the same, other tokens, other heads, and the first again."""
    first = pk.Transformer(2, d=3, d_head=2, seed=1)
    models = [first, first, pk.Transformer(3, d=3, d_head=2, seed=2), pk.Transformer(2, d=4), first]
    for model, n in zip(models, (9, 41, 41, 41, 9), strict=True):
        field = lowered(model)
        for seed in (1, 2):
            x = pk.sphere.uniform(n, model.d, seed)
            assert worst(field_velocity.velocity(field, x), model.velocity(x)) < 1e-12


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 8, 9])
@pytest.mark.parametrize(
    "mask", ["causal", "full", "window(2)", "window(18)", "window(33)", "prefix(7)", "prefix(20)"]
)
def test_tiles_of_narrow_heads(mask, width):
    """Three tiles of queries, the first not full, whose edges cut through windows and prefixes.

    Heads of width 9 are too wide for tiles.
    """
    rng, d = np.random.default_rng(width), 5 if width < 3 else width
    heads = [
        pk.Head(
            *rng.standard_normal((2, width, d)),
            rng.standard_normal((d, width)) @ rng.standard_normal((width, d)),
            beta=2.0,
        )
        for _ in range(2)
    ]
    for position in (None, pk.Rope(base=100.0), pk.Alibi([0.0, 0.5])):
        model = pk.Transformer(heads, mask=mask, position=position)
        field, x = lowered(model), pk.sphere.uniform(41, d, seed=width)
        assert interpreted(is_narrow)(field, allocate_projections(field, 41), 0) == (width < 9)
        assert worst(field_velocity.velocity(field, x), model.velocity(x)) < 1e-12


@pytest.mark.skipif(not wide.ENABLED.value, reason="the processor has no AVX-512")
@pytest.mark.parametrize("mask", ["causal", "full", "window(18)", "prefix(7)"])
def test_wide_vectors_have_the_same_bits(mask):
    """Tiles of every width, the last with values that have more components than keys."""
    widths = (1, 2, 3, 4, 5, 8)
    models = [pk.Transformer(2, d=max(2, p), d_head=p, seed=p, mask=mask) for p in widths]
    for model in [*models, pk.Transformer(3, d=4, d_head=3, seed=5, mask=mask)]:
        field, x = lowered(model), pk.sphere.uniform(41, model.d, seed=1)
        result = []
        for enabled in (1, 0):
            wide.ENABLED.value = enabled
            try:
                result.append(field_velocity.velocity(field, x, threads=1))
            finally:
                wide.ENABLED.value = 1
        assert np.array_equal(*result)


@pytest.mark.parametrize("n", [1, 127, 128, 129, 200, 384])
def test_chunks_are_all_tokens_in_turn(n):
    spans = [field_velocity.chunk(n, i) for i in range(field_velocity.chunks(n))]
    assert [k for lo, hi in spans for k in range(lo, hi)] == list(range(n))
    assert all(hi - lo == field_velocity.CHUNK for lo, hi in spans[1:])


def test_scores_far_beyond_the_range_of_floats():
    Q = 1e4 * np.random.default_rng(1).standard_normal((3, 3))
    model = pk.Transformer([pk.Head(Q, 1.0, 1.0, beta=9.0), pk.Head(d=3)], norm="pre")
    state = random_state(model, 9, 2)
    assert worst(field_velocity.velocity(lowered(model), state), model.change(state)) < 1e-8


def test_a_lone_token_feels_a_tiny_force_precisely():
    """Two heads; token 2 is alone at distance φ: e^{β(cos φ − 1)} sin φ, relative to 1e-12."""
    angle, beta = 2.5, 64.0
    model = pk.Transformer([pk.Head(V=[1, 0], beta=beta), pk.Head(V=[0, 1], beta=beta)], norm="pre")
    field = lowered(model)
    state = np.concatenate([pk.sphere.from_angles([0.0, angle]), np.zeros((2, 1))], axis=1)
    moved = field_velocity.velocity(field, state)[1]
    speed = moved[0] * np.sin(angle) - moved[1] * np.cos(angle)
    tiny = np.exp(beta * (np.cos(angle) - 1))
    assert speed == pytest.approx(tiny / (1 + tiny) * np.sin(angle), rel=1e-12)


@pytest.mark.parametrize("seed", range(24))
def test_linear_systems_are_those_of_finite_differences(seed):
    model = random_transformer(seed)
    if model.mlp is not None and model.mlp.activation == "relu":
        model = pk.Transformer(  # whose kinks have no differences
            model.heads, norm=model.norm, mask=model.mask, position=model.position
        )
    assert_solves(lowered(model), model, random_state(model, 5, seed), t=1.7)


@pytest.mark.parametrize("activation", ["relu", "gelu", "silu"])
def test_linear_systems_with_every_activation(activation):
    rng = np.random.default_rng(5)
    mlp = pk.MLP(*(rng.standard_normal(shape) for shape in ((7, 3), (3, 7), 7, 3)), activation)
    model = pk.Transformer([pk.Head(d=3, beta=2.0)], mlp=mlp, norm="peri")
    assert_solves(lowered(model), model, random_state(model, 5, 6), h=1e-5)


def test_the_linearisation_has_the_velocity_of_the_kernel():
    model = random_transformer(3)
    state, field = random_state(model, 7, 3), lowered(model)
    result = implicit_step(field, state, 1.0).lin.velocity
    assert worst(result, field_velocity.velocity(field, state)) < 1e-14


def test_a_head_without_values_has_room_for_its_scores():
    """V = 0. As Python runs it, which checks indices; compiled code would write anywhere."""
    field = lowered(pk.Transformer([pk.Head(V=0.0, d=3)], norm="pre"), long=True)
    assert len(field.values) == 0
    linear = field_linear.allocate(field, 4, 4)  # all keys are 0, so all weights are the same
    scratch = interpreted(field_linear._scratch)(field, 4)
    for k in range(4):
        interpreted(field_linear._add_head)(field, 0, k, linear, scratch)
    np.testing.assert_allclose(linear.own[:, 0], 1 / np.arange(1, 5))


def test_frames_change_nothing():
    """The Schur basis of the sum of the value matrices."""
    model = random_transformer(11, masks=("causal",), d=4)
    model = pk.Transformer(model.heads, mlp=model.mlp, norm="peri")
    frame = transformer_frame(model, long=True, still=True)
    assert not np.array_equal(frame.basis, np.eye(4))
    state = random_state(model, 6, 7)
    turned = np.concatenate([frame.enter(state[:, :4]), state[:, 4:]], axis=1)
    moved = field_velocity.velocity(prepare_field(model, frame), turned)
    back = np.concatenate([frame.leave(moved[:, :4]), moved[:, 4:]], axis=1)
    assert worst(back, model.change(state)) < 1e-12


def test_one_code_serves_all_dimensions():
    assert unrolled(SMALL_D) == unrolled(100)


def test_normalize_is_used_for_tokens_only():
    from parkade.engine.vectors import normalize_first

    state = np.random.default_rng(1).standard_normal((4, 4))
    expected = np.concatenate([normalize(state[:, :3]), state[:, 3:]], axis=1)
    normalize_first(state, 3)
    assert worst(state, expected) < 1e-15
