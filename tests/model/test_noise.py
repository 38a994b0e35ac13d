"""Noise and depth as parts of a model: data, labels, equality, and layers."""

import numpy as np
import pytest

import parkade as pk
from parkade.base.errors import InputError
from parkade.model.model import from_dict


@pytest.mark.parametrize(
    "model",
    [
        pk.Attention(2, 4.0, noise=8.0),
        pk.Attention(3, noise=pk.Noise(0.5, common=True)),
        pk.Transformer([pk.Head(d=3)], noise=2.0, norm="pre"),
        pk.Transformer(2, d=3, d_head=1, beta=2.0, depth=pk.Resampled(0.5, seed=3), noise=4.0),
    ],
)
def test_models_survive_a_file(model):
    again = from_dict(model.to_dict())
    assert again == model
    assert repr(again) == repr(model)
    assert again.with_noise(None) != model
    assert "noise" in model.label


def test_a_number_is_kappa():
    assert pk.Attention(2, noise=8) == pk.Attention(2, noise=pk.Noise(8.0))
    assert pk.Noise(8.0).label == "noise κ=8"
    assert pk.Noise(8.0, common=True).label == "common noise κ=8"
    assert pk.Attention(2).noise is None
    assert not pk.Attention(2, noise=8.0).plain
    assert repr(pk.Attention(2, noise=8.0)).endswith("noise=Noise(kappa=8.0, common=False))")


def test_resampled_heads_are_layers():
    model = pk.Transformer(2, d=3, d_head=2, beta=4.0, depth=pk.Resampled(every=0.5, seed=1))
    layers = model.unfolded(2.0)
    assert layers.times.tolist() == [0.0, 0.5, 1.0, 1.5]
    assert [model.at(t) == layers.at(t) for t in (0.0, 0.6, 1.9)] == [True] * 3
    assert len({float(layer.heads[0].Q[0, 0]) for layer in layers.models}) == 4
    x0 = pk.sphere.uniform(6, 3, seed=1)
    np.testing.assert_array_equal(model.velocity(x0, t=0.7), layers.velocity(x0, t=0.7))
    run, expected = pk.simulate(model, x0, 2.0), pk.simulate(layers, x0, 2.0)
    np.testing.assert_array_equal(run.final, expected.final)
    path = pk.forward(model, x0, 4, step=0.5)
    np.testing.assert_array_equal(path.final, pk.forward(layers, x0, 4, step=0.5).final)
    assert model.generator is None
    assert not model.autonomous
    assert model.scores == ()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pk.Transformer([pk.Head(d=2)], depth=pk.Resampled()), "draws random heads"),
        (lambda: pk.Transformer(2, d=2, seed=1, depth=pk.Resampled()), "seed of their own"),
        (lambda: pk.Transformer(2, d=2, norm="mix", depth=pk.Resampled()), "both change"),
        (lambda: pk.Transformer(2, d=2, depth="resampled"), r"must be pk\.Resampled.* or None"),
        (lambda: pk.Resampled(every=0), "every must be"),
        (lambda: pk.Resampled(seed=-1), "seed must be"),
        (lambda: pk.Resampled(seed=1.5), "seed must be"),
        (
            lambda: pk.Layers([0], [pk.Transformer(2, d=2, depth=pk.Resampled())]),
            "change by themselves",
        ),
    ],
)
def test_bad_depth_gets_a_sentence(call, words):
    with pytest.raises(InputError, match=words):
        call()
