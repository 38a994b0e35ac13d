"""Captions, facts and file names of scenes."""

from __future__ import annotations

import dataclasses

import pytest

import parkade as pk
from parkade.explorer import Settings, scene
from parkade.explorer.scenes.build import build
from parkade.explorer.scenes.describe import facts_of, file_name, label


@pytest.fixture(scope="module")
def run():
    model = pk.Attention(V=[1, 0.5, -1], beta=2.5, mask="full")
    return pk.simulate(model, pk.sphere.uniform(5, 3, seed=1), 3.0)


def test_texts_of_settings():
    data = scene({"n": 12, "d": 2, "beta": 36, "T": 5, "c": 2, "frozen": "strong", "V": "1,-1"})
    assert data["label"] == (
        "n = 12, d = 2, β = 36, V = 1,-1, causal attention, frozen strong centres, seed 1"
    )
    assert data["file_name"] == "parkade-n12-d2-beta36-T5-seed1"
    count = len(data["frozen_tokens"])
    assert list(data["facts"].items()) == [
        ("n", "12"), ("d", "2"), ("β", 36.0), ("c", 2.0), ("δ", pytest.approx(1 / 3)), ("T", 5.0),
        ("V", "1,-1"), ("Q", "I"), ("K", "I"), ("attention", "causal"),
        ("frozen", f"{count} tokens"), ("seed", "1"),
    ]  # fmt: skip


def test_texts_of_a_run(run):
    data = build(run)
    assert data["label"] == "n = 5, d = 3, β = 2.5, V = diag(1, 0.5, −1), full mask"
    assert data["file_name"] == "parkade-full-n5-d3-beta2.5-T3"
    assert data["facts"] == {
        "n": "5", "d": "3", "β": 2.5, "δ": data["delta"],
        "V": "1, 0, 0; 0, 0.5, 0; 0, 0, -1", "T": 3.0, "attention": "full",
    }  # fmt: skip


def test_facts_of_frozen_tokens_and_large_matrices():
    model, x0 = pk.Attention(V=[1.0, 2, 3, 4, 5]), pk.sphere.uniform(5, 5, seed=1)
    one = pk.simulate(model, x0, 1.0, frozen=x0[:1])
    facts = facts_of(one, model, None, 0.5)
    assert facts["frozen"] == "1 token"
    assert "V" not in facts
    assert facts_of(one, pk.Attention(d=5), None, 0.5)["V"] == "I"


def test_texts_of_a_path(run):
    path = dataclasses.replace(run, model=None)
    assert label(path, None, None) == "path of 5 tokens, d = 3"
    assert facts_of(path, None, None, None) == {"n": "5", "d": "3", "T": 3.0}
    assert file_name(path, None, None) == "parkade-n5-d3"


def test_defaults_are_left_out_of_captions():
    assert scene(Settings(n=3, T=1.0))["label"] == "n = 3, d = 3, β = 9, causal attention, seed 1"
