"""Layers: the model at each time, traits, files, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.common import random_model
from support.drift import drifting

import parkade as pk
from parkade.model.model import from_dict

X0 = pk.sphere.uniform(6, 2, seed=1)
MODELS = pk.Attention(V=[2, 1], beta=9.0), pk.Attention(d=2, beta=4.0), drifting()
LAYERS = pk.Layers([0, 1, 10], MODELS)
SCHEDULE = pk.Schedule([0, 1, 10], [4, 9.5, 2])


@pytest.mark.parametrize(("t", "number"), [(0, 0), (0.99, 0), (1, 1), (9.9, 1), (10, 2), (1e9, 2)])
def test_each_model_has_its_time(t, number):
    assert LAYERS.at(t) is MODELS[number]
    assert np.array_equal(LAYERS.velocity(X0, t=t), MODELS[number].velocity(X0))


def test_the_pieces_until_the_end():
    spans = [(start, end) for start, end, _ in LAYERS.pieces(10.0)]
    assert spans == [(0, 1), (1, 10)]
    assert [end for _, end, _ in LAYERS.pieces(50.0)] == [1, 10, 50]
    assert [end for _, end, _ in LAYERS.pieces()] == [1, 10, np.inf]


def test_traits():
    assert LAYERS.d == 2
    assert LAYERS.triangular
    assert LAYERS.batched
    assert not LAYERS.autonomous
    assert LAYERS.sharpness == 9.0
    assert LAYERS.rate == 2.0
    assert LAYERS.mask == "causal"
    assert LAYERS.label == "3 layers, causal mask"
    for trait in (LAYERS.beta, LAYERS.generator, LAYERS.product, LAYERS.leading_space):
        assert trait is None
    mixed = pk.Layers([0, 1], [MODELS[1], pk.Attention(d=2, beta=4.0, mask="full")])
    assert not mixed.triangular
    assert mixed.mask is None
    assert mixed.beta == 4.0
    assert np.array_equal(mixed.product, np.eye(2))
    assert pk.Layers([0], MODELS[:1]).autonomous
    assert not pk.Layers([0], [pk.Flow(lambda t, x: t * x, 2)]).autonomous


def test_a_schedule_changes_only_beta():
    base = random_model(3, beta=7.0, seed=2)
    model = pk.Scheduled(base, SCHEDULE)
    for t in (0.0, 1.0, 50.0):
        beta = SCHEDULE(t)
        assert model.at(t) == pk.Attention(beta=beta, Q=base.Q, K=base.K, V=base.V)
        assert model.at(t).sharpness == pytest.approx(beta / 7.0 * base.sharpness)
        assert model.at(t).V is base.V  # thousands of pieces share their matrices
    assert np.array_equal(model.generator, base.V)
    assert model.leading_space.shape == base.leading_space.shape
    assert model.beta is None
    assert base.beta == 7.0
    assert model.label.startswith("β(t) between 2 and 9.5, Q = ")
    assert model.label.endswith("causal mask")


@pytest.mark.parametrize(
    ("beta", "words"),
    [
        ([4, 4], "= 4"),
        ([4, 9], "from 4 to 9"),
        ([9, 8, 4], "from 9 to 4"),
        ([4, 9, 4], "between 4 and 9"),
    ],
)
def test_a_label_says_how_beta_changes(beta, words):
    model = pk.Scheduled(pk.Attention(d=2), pk.Schedule(range(len(beta)), beta))
    assert model.label == f"β(t) {words}, causal mask"


def test_a_schedule_replaces_the_beta_of_all_heads():
    heads = [pk.Head(V=[1, 0], beta=3.0), pk.Head(V=[0, 1], beta=3.0)]
    model = pk.Scheduled(pk.Transformer(heads, mask="full"), SCHEDULE)
    assert [head.beta for head in model.at(1.0).heads] == [9.5, 9.5]
    assert model.label == "β(t) between 2 and 9.5, 2 heads, full mask"
    assert repr(model).startswith("Scheduled(Transformer(heads=[Head(d=2, beta=3")


@pytest.mark.parametrize("model", [LAYERS, pk.Scheduled(MODELS[0], SCHEDULE)])
def test_as_json_and_back(model):
    again = from_dict(json.loads(json.dumps(model.to_dict())))
    assert type(again) is type(model)
    assert again == model
    assert again != pk.Layers([0], [MODELS[1]])
    assert again.label == model.label


def test_a_file_of_a_schedule_is_short():
    many = pk.Schedule.of(lambda t: t, 1e10, 100)
    text = json.dumps(pk.Scheduled(random_model(8, seed=1), many).to_dict())
    assert len(text) < 60_000


@pytest.mark.parametrize(
    ("times", "models", "message"),
    [
        ([0], [MODELS[0], MODELS[1]], r"models must be one for each of the 1 times, got 2"),
        ([0, 1], [MODELS[0], 3], r"such as pk\.Attention, .* but number 1 is 3"),
        ([0], [LAYERS], r"other than pk\.Layers, but number 0 is Layers"),
        ([0, 1], [MODELS[0], pk.Attention(d=3)], r"all have d=2, but number 1 has d=3"),
        ([2], [MODELS[0]], r"times must begin with 0, got 2"),
    ],
)
def test_bad_layers_are_refused(times, models, message):
    with pytest.raises(pk.InputError, match=message):
        pk.Layers(times, models)


@pytest.mark.parametrize(
    ("model", "schedule", "message"),
    [
        (MODELS[0], [1, 2], r"schedule must be a pk\.Schedule, got \[1, 2\]; use pk\.Schedule\("),
        (MODELS[0], lambda t: t, r"or pk\.Schedule\.of\(function, t_end\)"),
        (pk.Flow(lambda t, x: x, 2), SCHEDULE, r"got Flow\(.*; use pk\.Layers\(times, models\)"),
        (pk.Transformer([pk.Head(d=2), pk.Head(d=2, beta=3)]), SCHEDULE, r"have in common, got"),
        (LAYERS, SCHEDULE, r"have in common, got Layers"),
    ],
)
def test_what_has_no_beta_is_refused(model, schedule, message):
    with pytest.raises(pk.InputError, match=message):
        pk.simulate(model, X0, 1.0, schedule=schedule)


def test_layers_of_a_function():
    layers = pk.Layers.of(lambda i: pk.Attention(d=2, beta=float(i)), layers=3, every=2.0)
    assert layers.times.tolist() == [0.0, 2.0, 4.0]
    assert [model.beta for model in layers.models] == [0.0, 1.0, 2.0]
    with pytest.raises(pk.InputError, match="make must be a function"):
        pk.Layers.of(pk.Attention(d=2), layers=3)
