"""Trained layers as parkade models, against the forward pass they come from."""

from __future__ import annotations

import numpy as np
import pytest
from support import trained_families as families
from support import trained_files as written

import parkade as pk
from parkade.trained import flows

IDS = [3, 1, 4, 1, 5, 9, 2, 6]
PRE_NORM = ["llama", "mistral", "qwen2", "gemma", "phi3", "smollm3", "gpt2", "neox"]


def made(tmp_path, family, **extra):
    """A tiny model whose norms have no eps, since directions have none."""
    name = families.eps_name(family)
    return written.load(tmp_path, family, 3, settings={name: 0.0} if name else {}, **extra)[0]


def free(model, states):
    return states - states.mean(axis=-1, keepdims=True) if flows.centred(model) else states


def undone(norm, states):
    """Directions of the tokens that a norm with gain and bias has made."""
    return pk.sphere.normalize((states - norm.bias) / norm.gain)


@pytest.mark.parametrize("family", PRE_NORM)
def test_pre_norm_layers_are_exact(tmp_path, family):
    """Attention, then MLP, or both as a whole: `pk.forward` gives the model's tokens after each."""
    model = made(tmp_path, family)
    reading = model.read(IDS)
    start, middle, end = reading.hidden[1], reading.middle[1], reading.hidden[2]
    pieces = [(model.layer(1, mlp=False), start, middle),
              (model.layer(1, attention=False), middle, end)]  # fmt: skip
    if family == "neox":  # side by side
        pieces = [(model.layer(1), start, end)]
    for piece, before, after in pieces:
        radii = np.linalg.norm(free(model, before), axis=-1)
        path = pk.forward(piece, model.directions(before), 1, radii=radii)
        tokens = path.final * path.radii[-1][:, None]
        np.testing.assert_allclose(tokens, free(model, after), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("family", ["bert", "albert"])
def test_post_norm_layers_are_exact(tmp_path, family):
    model = made(tmp_path, family)
    reading = model.read(IDS)
    first, second = model.block(1).norms
    start = undone(model.block(0).norms[1], reading.hidden[1])
    middle, end = undone(first, reading.middle[1]), undone(second, reading.hidden[2])
    attention = pk.forward(model.layer(1, mlp=False), start, 1)
    np.testing.assert_allclose(attention.final, middle, rtol=1e-9, atol=1e-9)
    mlp = pk.forward(model.layer(1, attention=False), middle, 1)
    np.testing.assert_allclose(mlp.final, end, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("family", families.FLOWS)
def test_layers_are_written_and_read(tmp_path, family):
    model = made(tmp_path, family).layer(0)
    from parkade.model.model import from_dict

    x = model_tokens(model.d)
    again = from_dict(model.to_dict())
    np.testing.assert_allclose(again.velocity(x), model.velocity(x), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("family", families.FOREIGN)
def test_layers_that_parkade_does_not_have_are_refused(tmp_path, family):
    """They can be read: hidden states, attention and logits."""
    model, words = (
        made(tmp_path, family),
        f"has {families.FOREIGN[family]}, which .* can be read with read",
    )
    for ask in (
        lambda: model.layer(0),
        lambda: model.tied(0),
        model.heads,
        lambda: model.with_axis(0, 0, "flip"),
        lambda: model.with_spectrum(0, 0, negative=0.0),
    ):
        with pytest.raises(pk.InputError, match=words):
            ask()
    with pytest.raises(pk.InputError, match="has gates with biases, which"):
        made(tmp_path, "llama", biases=True).layer(0, attention=False)
    reading = model.read([3, 1, 4], attention=True)
    assert np.isfinite(reading.logits).all()
    assert len(reading.path().times) == 3


def model_tokens(d, n=5):
    x = np.random.default_rng(5).standard_normal((n, d))
    return pk.sphere.normalize(x - x.mean(axis=1, keepdims=True))


def test_layers_tend_to_the_flow_of_the_layer(tmp_path):
    """Discrete layers of a trained layer against its flow: the error is of order h."""
    model = made(tmp_path, "llama", d=8, heads=2, kv=1).layer(1)
    x = model_tokens(8)
    flow = pk.simulate(model, x, 1.0, tol=1e-9, radii=4.0)
    errors = []
    for steps in (64, 128):
        path = pk.forward(model, x, steps, step=1 / steps, radii=4.0)
        errors.append(np.abs(path.final - flow.final).max())
    assert 0.9 < np.log2(errors[0] / errors[1]) < 1.1


def test_tied_heads_run_compiled_and_end_as_the_spectrum_says(tmp_path):
    model = made(tmp_path, "llama", d=8, heads=2, kv=1)
    flow = model.tied(0)
    V = model.sum_of_values(0)
    np.testing.assert_allclose(sum(head.V for head in flow.heads), V, atol=1e-12)
    x = model_tokens(8)
    run = pk.simulate(flow, x, 5.0)
    assert "direct sums" in run.stats.engine
    slow = pk.simulate(pk.Flow(lambda t, y: flow.velocity(y), d=8, causal=True), x, 5.0)
    assert np.abs(run.final - slow.final).max() < 1e-4
    assert model.rate(0) == pytest.approx(np.sqrt(8) * np.linalg.eigvals(V).real.max())


def test_tied_needs_a_layer_unless_all_are_one(tmp_path):
    with pytest.raises(pk.InputError, match="2 different layers; say which one"):
        made(tmp_path, "llama").tied()
    one = made(tmp_path, "albert", groups=1)
    assert one.tied().label == "3 heads, full mask"
    with pytest.raises(pk.InputError, match="layer must be a whole number from 0 to 3, got 7"):
        one.layer(7)


def test_iterate_is_the_layer_again_and_again(tmp_path):
    model = made(tmp_path, "albert", groups=1)
    reading = model.read(IDS)
    path = model.iterate(IDS, times=4)
    states = path.tokens * path.radii[..., None]
    np.testing.assert_allclose(states, reading.hidden, rtol=1e-10, atol=1e-12)
    again = model.iterate(reading.hidden[2], layer=0, times=2)
    np.testing.assert_allclose(again.final, path.tokens[4], rtol=1e-10, atol=1e-12)


def test_paths_and_clocks(tmp_path):
    model = made(tmp_path, "llama")
    reading = model.read(IDS)
    path = reading.path()
    np.testing.assert_array_equal(path.times, [0, 1, 2])
    np.testing.assert_allclose(path.tokens * path.radii[..., None], reading.hidden)
    centre = reading.hidden.mean(axis=1)
    middle = reading.path(centre=centre)
    assert np.abs((middle.tokens * middle.radii[..., None]).sum(axis=1)).max() < 1e-10
    rates = [model.rate(0), model.rate(1)]
    ticks = rates / np.median(reading.radii[:-1], axis=1)
    np.testing.assert_allclose(reading.path("tau").times, [0, *np.cumsum(ticks)])


def test_changes(tmp_path):
    for family in ("llama", "albert"):
        model = made(tmp_path, family)
        bare = model.without("mlp").without("attention").read(IDS)
        if family == "llama":  # nothing moves
            np.testing.assert_array_equal(bare.hidden[-1], bare.hidden[0])
        alone = model.without("mlp").read(IDS)
        np.testing.assert_allclose(alone.middle[0], model.read(IDS).middle[0])
        mixed, drawn = model.shuffled(1), model.redrawn(1)
        for name in ("q", "o"):
            old, new = (getattr(m.block(1).attention, name) for m in (model, mixed))
            np.testing.assert_array_equal(np.sort(old.ravel()), np.sort(new.ravel()))
            assert (old != new).any()
            ratio = getattr(drawn.block(1).attention, name).std() / old.std()
            assert 0.6 < ratio < 1.4
        values = model.redrawn(1, "values").block(0).attention
        np.testing.assert_array_equal(values.q, model.block(0).attention.q)
        assert (values.v != model.block(0).attention.v).any()
        repeated = model.shuffled(1).read(IDS).logits
        np.testing.assert_array_equal(repeated, mixed.read(IDS).logits)
