"""The parts of a transformer among the settings: models, scenes, weights, lengths and limits."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.explorer import unpacked

import parkade as pk
from parkade.explorer import Limits, Settings, scene
from parkade.explorer.scenes.compute import solver_within
from parkade.explorer.settings.schema import FieldError

SMALL = {"n": 10, "d": 3, "beta": 4.0, "T": 20.0}

CASES = {
    "pre": {"norm": "pre"},
    "mix": {"norm": "mix", "T": 30.0},
    "peri": {"norm": "peri"},
    "ngpt": {"norm": "ngpt"},
    "sqrt": {"norm": "sqrt"},
    "heads": {"heads": 3, "rank": 2, "Q": "1,2,1"},
    "mlp": {"mlp": 6, "gain": 0.3},
    "window": {"mask": "window", "reach": 3},
    "prefix": {"mask": "prefix", "reach": 4},
    "rope": {"encoding": "rope", "heads": 2, "rank": 3, "sample": 5},
    "alibi": {"encoding": "alibi", "slope": 0.5},
    "frozen": {"norm": "pre", "frozen": "renyi", "n": 20, "c": 4.0},
    "all": {"norm": "peri", "heads": 2, "mlp": 4, "mask": "window", "encoding": "alibi"},
}


@pytest.mark.parametrize("name", CASES)
def test_a_scene_is_the_run_of_the_library(name):
    chosen = Settings.read({**SMALL, **CASES[name]})
    data = scene(chosen)
    held = chosen.held
    free = np.delete(np.arange(chosen.n), held)
    frozen = chosen.start[held] if len(held) else None
    run = pk.simulate(chosen.model, chosen.start[free], chosen.T, frozen=frozen, tol=1e-6)
    frames = unpacked(data["frames"], "<f4", -1, chosen.n, chosen.d)
    np.testing.assert_allclose(frames[-1, free], run.final, atol=1e-6)
    if run.radii is None:
        assert data["log_radii"] is None
    else:
        logs = unpacked(data["log_radii"], "<f4", len(frames), chosen.n)
        np.testing.assert_allclose(logs[-1, free], np.log(run.radii[-1]), atol=1e-5)
        assert not logs[0].any()
        assert not logs[:, held].any()
    assert data["equation"][0] in ("mtable", "mrow")
    assert data["theory"]["predicted"].startswith("Nothing: ")
    assert data["forecast"] is None
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert Settings.read(data["settings"]) == chosen


def test_heads_share_the_values_and_approach_one_head():
    one = Settings(d=4, V="1,2,3,4", Q="random:1", K="random:2", beta=3.0)
    many = Settings.read({**one.to_dict(), "heads": 8, "rank": 2})
    np.testing.assert_allclose(many.model.generator, one.model.V, atol=1e-14)
    assert {head.Q.shape for head in many.model.heads} == {(2, 4)}
    full = Settings.read({**one.to_dict(), "heads": 8, "rank": 64})
    for head in full.model.heads:  # of full rank, each is the single head
        np.testing.assert_allclose(head.product, one.model.product, atol=1e-13)
    other = Settings.read({**many.to_dict(), "sample": 2})
    assert other.model != many.model
    assert np.array_equal(other.start, many.start)


def test_weights_come_from_what_a_scene_contains():
    """The scores in a scene give the force on every token."""
    chosen = Settings.read({**SMALL, "heads": 2, "rank": 3, "encoding": "rope"})
    x, model = chosen.start, chosen.model
    heads = scene(chosen)["heads"]
    assert scene(Settings.read(SMALL))["heads"] is None
    force = 0
    for one, head in zip(heads, model.heads, strict=True):
        angles = np.outer(np.arange(len(x)), one["frequencies"])
        q, k = x @ np.array(one["query"]).T, x @ np.array(one["key"]).T
        for y in (q, k):
            a, b = y[:, 0].copy(), y[:, 1].copy()
            y[:, 0] = np.cos(angles[:, 0]) * a - np.sin(angles[:, 0]) * b
            y[:, 1] = np.sin(angles[:, 0]) * a + np.cos(angles[:, 0]) * b
        weights = np.tril(np.exp(q @ k.T))
        force = force + (weights / weights.sum(axis=1, keepdims=True)) @ x @ head.V.T
    np.testing.assert_allclose(force, model.force(x), atol=1e-12)


def test_captions_and_facts_name_what_is_not_as_usual():
    data = scene({**SMALL, "heads": 2, "norm": "pre", "mask": "window", "sample": 3})
    assert data["label"] == (
        "n = 10, d = 3, β = 4, window attention, over 16 tokens, seed 1, pre-norm, 2 heads, of "
        "rank 1, sample 3"
    )
    assert data["file_name"] == "parkade-pre-window16-n10-d3-beta4-T20-seed1"
    facts = data["facts"]
    assert (facts["norm"], facts["heads"], facts["attention"]) == ("pre-norm", "2", "window")
    assert not {"position", "width of the MLP", "strength of the MLP"} & set(facts)
    run = pk.simulate(pk.Transformer(2, d=3, seed=1, norm="pre"), pk.sphere.uniform(4, 3, 1), 1.0)
    from parkade.explorer.scenes.build import build

    assert build(run)["facts"]["model"] == "2 heads, pre-norm, causal mask"


def test_positions_do_not_go_with_frozen_tokens():
    with pytest.raises(FieldError, match="frozen tokens have no position") as caught:
        Settings(encoding="rope", frozen="renyi")
    assert caught.value.field == "encoding"


@pytest.mark.parametrize(
    ("norm", "V", "reason"),
    [
        ("pre", "-1", "falls to 0 at t=1, where it has no direction"),
        ("ngpt", "0", "feels no force"),
    ],
)
def test_tokens_without_a_speed(norm, V, reason):
    with pytest.raises(FieldError, match=f"{reason}.*; choose a smaller T") as caught:
        scene({**SMALL, "norm": norm, "V": V})
    assert caught.value.field == "norm"


@pytest.mark.parametrize("norm", ["post", "ngpt", "sqrt", "mix", "pre", "peri"])
def test_limits_know_the_clock(norm):
    """Full attention takes explicit steps: by the logarithm of T if tokens grow."""
    chosen = {"n": 300, "mask": "full", "norm": norm}
    if norm in ("mix", "pre", "peri"):
        solver_within(Limits(), Settings(**chosen, T=1e60))
        return
    with pytest.raises(FieldError, match=r"would take about .* steps of 300 tokens") as caught:
        solver_within(Limits(), Settings(**chosen, T=1e60))
    longest = float(str(caught.value).split()[-1])
    solver_within(Limits(), Settings(**chosen, T=0.9 * longest))
    with pytest.raises(FieldError):
        solver_within(Limits(), Settings(**chosen, T=1.1 * longest))
