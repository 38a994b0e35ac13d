"""Settings of the explorer: what they mean, and what is refused with which sentence."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import parkade as pk
from parkade.explorer import Settings
from parkade.explorer.settings.schema import FieldError


def test_defaults_are_those_of_the_contract():
    assert Settings.read({}).to_dict() == {
        "n": 32, "d": 3, "beta": 9.0, "c": 4.0, "V": "I", "Q": "I", "K": "I",
        "mask": "causal", "reach": 16, "frozen": "none", "seed": 1, "T": 1000.0, "norm": "post",
        "heads": 1, "rank": 1, "mlp": 0, "gain": 0.5, "sample": 1, "encoding": "none", "slope": 0.1,
        "growth": 0.0, "noise": 0.0,
    }  # fmt: skip


def test_settings_survive_json():
    chosen = Settings(n=7, d=2, V="0,-1;1,0", mask="full", frozen="strong", T=1e60, c=0.5)
    assert Settings.read(json.loads(json.dumps(chosen.to_dict()))) == chosen
    assert Settings.read({"T": 10**59}).T == 1e59


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I", np.eye(3)),
        (" I ", np.eye(3)),
        ("2", 2 * np.eye(3)),
        ("-0.5", -0.5 * np.eye(3)),
        ("1,1,-1", np.diag([1, 1, -1])),
        ("0,-1,0;1,0,0;0,0,2", [[0, -1, 0], [1, 0, 0], [0, 0, 2]]),
    ],
)
def test_matrices(text, expected):
    for name in "QKV":
        assert np.array_equal(getattr(Settings(**{name: text}).model, name), expected)


def test_random_matrices_are_those_of_the_command_line():
    from parkade.cli import parse

    texts = {"Q": "random:3", "K": "random:3", "V": "random:4"}
    expected, _ = parse.matrices(texts, 5)
    model = Settings(d=5, **texts).model
    for name in "QKV":
        assert np.array_equal(getattr(model, name), expected[name])


def test_start_and_separation():
    chosen = Settings(n=50, d=2, beta=64, c=4, seed=7)
    assert np.array_equal(chosen.start, pk.sphere.uniform(50, 2, seed=7))
    assert chosen.delta == 0.5
    assert Settings(beta=0).delta == math.pi  # as far as tokens can be
    assert Settings(beta=1, c=4).delta == math.pi


def test_held_tokens_are_the_centres_of_the_start():
    for kind, find in [("renyi", pk.renyi_centers), ("strong", pk.strong_renyi_centers)]:
        chosen = Settings(n=100, d=2, beta=64, frozen=kind)
        assert np.array_equal(chosen.held, find(chosen.start, 0.5))
    assert len(Settings().held) == 0
    with pytest.raises(FieldError, match="leaves none to move") as caught:
        Settings(n=1, frozen="renyi").held  # noqa: B018
    assert caught.value.field == "frozen"


@pytest.mark.parametrize(
    ("data", "field", "sentence"),
    [
        ({"n": 0}, "n", "n must be a whole number from 1 to 2000, got 0"),
        ({"n": 2001}, "n", "got 2001"),
        ({"n": 3.0}, "n", "got 3.0"),
        ({"n": True}, "n", "got True"),
        ({"n": "3"}, "n", "got '3'"),
        ({"n": None}, "n", "got None"),
        ({"n": 10**300}, "n", "got 1000"),
        ({"d": 1}, "d", "from 2 to 64, got 1"),
        ({"beta": -1}, "beta", "from 0 to 1e+06, got -1"),
        ({"beta": math.nan}, "beta", "got nan"),
        ({"beta": math.inf}, "beta", "got inf"),
        ({"beta": [9]}, "beta", "got [9]"),
        ({"c": 0}, "c", "got 0"),
        ({"T": 1e61}, "T", "from 0.001 to 1e+60, got 1e+61"),
        ({"T": 0}, "T", "got 0"),
        ({"seed": -1}, "seed", "got -1"),
        ({"seed": 2**53}, "seed", "got 9007199254740992"),
        (
            {"mask": "casual"},
            "mask",
            "must be one of 'causal', 'full', 'window', 'prefix', got 'casual'",
        ),
        ({"frozen": "all"}, "frozen", "'none', 'renyi', 'strong', got 'all'"),
        ({"V": 1}, "V", "must be a text"),
        ({"V": "1,2"}, "V", "a vector of length 3 (a diagonal) or a 3×3 matrix, got shape (2,)"),
        ({"V": "1,2;3"}, "V", "rows of one length, got rows of 2, 1 numbers"),
        ({"V": "x.npy"}, "V", "must be a number"),
        ({"V": ""}, "V", "must be a number"),
        ({"Q": "nan"}, "Q", "must be finite"),
        ({"Q": "1e999"}, "Q", "must be finite"),
        ({"K": "1e4"}, "K", "0 or from 1e-06 to 1000 in size, got 10000"),
        ({"K": "1e-9"}, "K", "got 1e-09"),
        ({"V": "random:"}, "V", "must be a whole number ≥ 0, got ''"),
        ({"V": "random:-1"}, "V", "got '-1'"),
        ({"V": "random:" + "9" * 20}, "V", "SEED of V must be"),
        ({"V": "1," * 40000}, "V", "at most 65536 characters"),
        ({"V": "a" * 1000}, "V", "got 'aaa"),
        ({"x": 1}, "x", "there is no setting 'x'; the settings are n, d, beta"),
        ([], None, "one JSON object, got []"),
        (None, None, "got None"),
    ],
)
def test_refusals(data, field, sentence):
    with pytest.raises(FieldError) as caught:
        Settings.read(data)
    assert caught.value.field == field
    assert sentence in str(caught.value)
    assert len(str(caught.value)) < 300


def test_no_file_is_read(tmp_path):
    np.savetxt(tmp_path / "v.csv", np.eye(3), delimiter=",")
    with pytest.raises(FieldError, match="must be a number"):
        Settings(V=str(tmp_path / "v.csv"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
KEYS = st.sampled_from(list(Settings().to_dict()))


@given(st.dictionaries(KEYS, JSON) | JSON)
def test_whatever_comes_is_read_or_refused(data):
    try:
        chosen = Settings.read(data)
    except FieldError as error:
        sentence = str(error)
    else:
        sentence = ""
    if sentence:
        assert 10 < len(sentence) < 300
        return
    assert Settings.read(chosen.to_dict()) == chosen
    assert chosen.start.shape == (chosen.n, chosen.d)
