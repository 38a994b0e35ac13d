"""Forged files, whose checksums match: `load` refuses what would break a page later."""

from __future__ import annotations

import json

import numpy as np
import pytest

import parkade as pk
from parkade.base import npz

LONG = "x" * 5_000_000
TURN = np.array([[0.0, 1.0], [-1.0, 0.0]])


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """The arrays of a file."""
    path = tmp_path_factory.mktemp("sound") / "run.npz"
    pk.simulate(pk.Attention(d=2), pk.sphere.uniform(4, 2, seed=1), 1.0).save(path)
    with np.load(path) as file:
        return dict(file)


def loaded(tmp_path, arrays):
    """What `load` makes of arrays in a file with the right checksum."""
    path = tmp_path / "run.npz"
    with path.open("wb") as stream:
        npz.write(stream, arrays)
    return pk.load(path)


def refused(tmp_path, arrays, words):
    with pytest.raises(pk.InputError, match=words) as caught:
        loaded(tmp_path, arrays)
    assert len(str(caught.value)) < 1000
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("seconds", float("inf"), "seconds of stats must be ≥ 0"),
        ("seconds", 10**400, "seconds of stats must be ≥ 0"),
        ("seconds", float("nan"), "seconds of stats must be ≥ 0"),
        ("tol", -1.0, "tol of stats must be ≥ 0"),
        ("steps", -1, "steps of stats must be ≥ 0"),
        ("steps", True, "steps of stats must be of type int"),
        ("steps", 10**30, "steps of stats must be ≥ 0"),
        ("seed", -5, "seed of stats must be ≥ 0"),
        ("reason", "a\x1b[2J", "reason of stats must be a text of at most 500 printable"),
        ("engine", "\ud800", "engine of stats must be a text"),
        ("code", "x" * 5000, "code of stats must be a text"),
        ("code", LONG, "stats must have at most 1048576 bytes"),
    ],
)
def test_stats(tmp_path, sound, name, value, words):
    stats = json.loads(str(sound["stats"])) | {name: value}
    refused(tmp_path, sound | {"stats": json.dumps(stats)}, words)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("times", np.zeros_like, "must increase from 0"),
        ("times", lambda t: t + 1, "must increase from 0"),
        ("spin", lambda s: s + np.eye(2), "spin must be antisymmetric"),
        ("spin", lambda s: 1e-310 * TURN, "spin must be 0 or have rates"),
        ("spin", lambda s: 1e200 * TURN, "spin must be 0 or have rates"),
        ("tokens", lambda x: 0 * x, "tokens must be unit vectors"),
        ("tokens", lambda x: 2 * x, "tokens must be unit vectors"),
        ("dense", lambda x: x * np.inf, "dense must be finite"),
        ("format", lambda x: np.array("y" * 200_000), "its format is 'y{56}"),
    ],
)
def test_arrays(tmp_path, sound, name, change, words):
    with np.errstate(invalid="ignore"):
        refused(tmp_path, sound | {name: change(sound[name])}, words)


def test_a_run_of_one_time_has_no_dense_output(tmp_path, sound):
    one = {name: sound[name][:1] for name in ("times", "tokens")}
    refused(tmp_path, sound | one | {"dense": sound["dense"][:0]}, "must increase from 0")


@pytest.mark.parametrize("label", [LONG, "\ud800", "a\x1b[2J", 5])
def test_labels(tmp_path, sound, label):
    model = json.dumps({"kind": "flow", "d": 2, "label": label})
    refused(tmp_path, sound | {"model": model}, "label must be a text")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("[", "its words cannot be read"),
        ("[" * 100_000, "its words cannot be read"),
        ('["a"]', "one word for each of the 4 tokens, got 1"),
        ('"abcd"', "words must be a list of strings"),
        ('["a", "b", "c", "\\ud800"]', "a word must have no lone surrogates"),
        (np.zeros(4), "words must be text"),
    ],
)
def test_words(tmp_path, sound, words, message):
    refused(tmp_path, sound | {"words": words}, message)


def test_texts_are_no_html(tmp_path, sound):
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
    names = ("reason", "engine", "sums", "sums_reason", "stopped", "code")
    stats = json.loads(str(sound["stats"])) | dict.fromkeys(names, evil)
    model = json.dumps({"kind": "flow", "d": 2, "label": evil})
    forged = {"stats": json.dumps(stats), "model": model, "words": json.dumps([evil] * 4)}
    page = loaded(tmp_path, sound | forged).show().text
    assert evil not in page
    assert "<script>alert" not in page
    assert "<img src=x" not in page
