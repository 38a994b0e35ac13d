"""A new part, defined in its own file, works everywhere that `Attention` works."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from support.common import worst
from support.drift import Drift, drifting

import parkade as pk
from parkade import plots
from parkade.model.model import from_dict

X0 = pk.sphere.uniform(20, 2, seed=1)


def test_the_first_token_drifts_as_the_closed_form_says():
    """ẋ = P_x(s·e) on the circle: tan(α/2) decays like e^{-st} with α the angle to e."""
    strength, start = 0.7, pk.sphere.from_angles([[0.3]])[0]
    model = pk.Transformer(parts=[Drift((0.0, 1.0), strength)], d=2)
    for method in ("explicit", "implicit"):
        run = pk.simulate(model, start, 10.0, method=method, tol=1e-9)
        alpha = math.pi / 2 - pk.sphere.angles(run.at(2.0))[0]
        expected = 2 * math.atan(math.tan((math.pi / 2 - 0.3) / 2) * math.exp(-2 * strength))
        assert alpha == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("mask", ["causal", "full"])
def test_explicit_and_implicit_agree(mask):
    model = pk.Transformer([pk.Head(d=2, beta=9.0)], parts=[Drift((0.0, 1.0), 0.2)], mask=mask)
    explicit, implicit = (
        pk.simulate(model, X0[:5], 10.0, method=method, tol=1e-8)
        for method in ("explicit", "implicit")
    )
    assert worst(explicit.final, implicit.final) < 1e-6
    assert explicit.stats.sums == "naive"


def test_the_forces_of_parts_add_up():
    heads = [pk.Head(d=2, beta=9.0), pk.Head(V=[0.5, 2.0], beta=1.0)]
    parts = [Drift((1.0, 0.0), 0.3)]
    alone = [pk.Transformer([head]).velocity(X0) for head in heads]
    alone.append(pk.Transformer(parts=parts, d=2).velocity(X0))
    assert worst(pk.Transformer(heads, parts=parts).velocity(X0), sum(alone)) < 1e-15


def test_a_transformer_with_one_head_is_attention():
    rng = np.random.default_rng(1)
    Q, K, V = rng.standard_normal((3, 3, 3))
    attention = pk.Attention(beta=2.0, Q=Q, K=K, V=V)
    model = pk.Transformer([pk.Head(Q, K, V, beta=2.0)])
    assert model == attention
    x0 = pk.sphere.uniform(8, 3, seed=2)
    assert np.array_equal(pk.simulate(model, x0, 5.0).final, pk.simulate(attention, x0, 5.0).final)


def test_merge_tree_and_plots():
    run = pk.simulate(drifting(), X0[:8], 1e3)
    assert run.stats.method == "implicit"
    assert run.merge_tree().count(1e3) == 1  # all follow the drift
    assert plots.caption(run) == "β = 9, drift 0.1, causal mask, n = 8, t = 1000"
    assert plots.overview(run).axes


def test_saved_and_loaded(tmp_path):
    run = pk.simulate(drifting(), X0, 10.0)
    run.save(tmp_path / "run.npz")
    back = pk.load(tmp_path / "run.npz")
    assert back.model == run.model
    assert back.model.parts == (Drift((0.0, 1.0), 0.1),)
    assert np.array_equal(back.at(3.3), run.at(3.3))
    assert np.array_equal(pk.simulate(back.model, X0, 10.0).final, run.final)


def test_as_json_and_back():
    model = drifting()
    text = json.dumps(model.to_dict())
    assert from_dict(json.loads(text)) == model


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_swept(tmp_path, executor):
    """Worker processes get the part with the model."""
    options = {"n": 6, "runs": 4, "t_end": 20.0, "measure": ["clusters", "merges", "consumption"]}
    models = {"calm": drifting(0.01), "windy": drifting(1.0)}
    workers = 1 if executor == "processes" else 2
    results = pk.ensemble(models, **options, store=tmp_path, executor=executor, workers=workers)
    assert list(results.model.values) == ["calm", "windy"]
    last = results.clusters.isel(time=-1).mean("run")
    assert float(last.sel(model="windy")) < float(last.sel(model="calm"))
    assert results.identical(pk.load_ensemble(tmp_path))
    again = pk.ensemble(models, **options, store=tmp_path)
    assert again.identical(results)


def test_shown_on_a_page():
    page = pk.simulate(drifting(), X0, 10.0).show()
    assert "drift 0.1" in page.text


def test_an_unknown_kind_is_refused():
    with pytest.raises(pk.InputError, match="unknown kind of model 'gale'; import the module"):
        from_dict({"kind": "gale"})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"heads": [3]}, r"heads must be a list of pk\.Head objects, but number 0 is 3"),
        ({"parts": [pk.Head(d=2)], "heads": [pk.Head(d=2), "x"]}, r"number 1 is 'x'"),
        ({}, r"d cannot be inferred for a model without heads; give d"),
        ({"heads": [pk.Head(d=2), pk.Head(d=3)]}, r"all have d=2, but number 1 has d=3"),
        ({"heads": [pk.Head(d=2)], "mask": "half"}, r"mask must be one of 'causal', 'full'"),
    ],
)
def test_bad_parts_are_refused(arguments, message):
    with pytest.raises(pk.InputError, match=message):
        pk.Transformer(**arguments)


def test_masks_are_objects_and_equal_their_names():
    assert pk.Attention(d=2).mask == "causal" == pk.Causal()
    assert pk.Attention(d=2, mask=pk.Full()) == pk.Attention(d=2, mask="full")
    assert pk.Causal() != pk.Full()
    assert pk.Causal().sees(3).tolist() == [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]
    assert pk.Full().sees(2).all()


@pytest.mark.parametrize("V", [np.eye(3), [1, 1, -1], [[1, -1, 0], [1, 1, 0], [0, 0, 0]], 0.0])
def test_traits_are_what_the_matrices_say(V):
    rng = np.random.default_rng(0)
    Q, K = rng.standard_normal((2, 3, 3))
    model = pk.Attention(beta=3.0, Q=Q, K=K, V=V)
    assert model.sharpness == pytest.approx(3.0 * np.linalg.norm(K.T @ Q, 2))
    assert model.rate == pytest.approx(np.linalg.norm(model.V, 2))
    assert np.array_equal(model.generator, model.V)
    assert np.array_equal(model.product, K.T @ Q)
    final = pk.theory.final_configuration(model.V)
    space = model.leading_space
    assert space.shape == final.basis.shape
    assert np.abs(space @ space.T - final.basis @ final.basis.T).max() < 1e-12
