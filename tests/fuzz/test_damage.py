"""Damaged files of every kind that parkade reads: the result is the same data or one sentence.

`PARKADE_FUZZ` is the number of damaged files of each kind.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import zipfile

import numpy as np
import pytest

import parkade as pk
from parkade.base import check
from parkade.cli import parse
from parkade.cli.sweep import read_recipe
from parkade.experiments.figures.registry import FIGURES
from parkade.experiments.reproduce import reproduce

CASES = int(os.environ.get("PARKADE_FUZZ", "60"))


def flip(data, rng):
    """Flip a random bit."""
    data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))


def scribble(data, rng):
    """Overwrite up to eight bytes with random ones."""
    for place in rng.integers(len(data), size=rng.integers(1, 9)):
        data[place] = rng.integers(256)


def cut(data, rng):
    """The end is missing."""
    del data[rng.integers(len(data)) :]


def lengthen(data, rng):
    """Extra bytes at the end."""
    data += rng.bytes(int(rng.integers(1, 5000)))


def zero(data, rng):
    """A block that was never written."""
    size = int(2 ** rng.integers(13))
    start = int(rng.integers(len(data))) // size * size
    data[start : start + size] = bytes(len(data[start : start + size]))


def exchange(data, rng):
    """Two blocks that changed places."""
    size = min(int(2 ** rng.integers(3, 10)), len(data) // 2)
    a, b = sorted(rng.integers(len(data) - size + 1, size=2))
    b = max(a + size, b) if a + size <= len(data) - size else b
    if b + size <= len(data) and a + size <= b:
        data[a : a + size], data[b : b + size] = data[b : b + size], data[a : a + size]


DAMAGES = (flip, scribble, cut, lengthen, zero, exchange)


def damaged(whole, case, kind):
    """A damaged copy of bytes, and a description of the damage."""
    rng = np.random.default_rng([case, *kind.encode()])
    data, damage = bytearray(whole), DAMAGES[case % len(DAMAGES)]
    damage(data, rng)
    return bytes(data), f"{kind}, case {case}: {damage.__name__}"


def outcome(story, read, *args):
    """The result of `read`, or None and its error message."""
    try:
        return read(*args), ""
    except pk.ParkadeError as error:
        return None, str(error)
    except BaseException as error:
        raise AssertionError(f"{story}: {error!r}") from error


def campaign(kind, whole, read, same=None, cases=CASES):
    """Read damaged copies; `same` compares the result with the expected one."""
    refused = 0
    for case in range(cases):
        data, story = damaged(whole, case, kind)
        value, sentence = outcome(story, read, data)
        assert "\n" not in sentence, story
        refused += bool(sentence)
        assert sentence or same is None or same(value), f"{story}: other data came back"
    # Most damage is detected; the rest must have hit unused bytes.
    assert refused >= cases // 4


# --- runs --------------------------------------------------------------------------------


def at_work(run):
    """Use a run: whatever `load` accepts must work."""
    middle = (run.times[0] + run.times[-1]) / 2
    if run.dense is not None:
        run.at(middle)
    assert repr(run)
    assert np.isfinite(run.final).all()
    return run


@pytest.fixture(scope="module")
def run():
    x0 = pk.sphere.uniform(5, 2, seed=1)
    options = {"frozen": [[0.6, 0.8]], "frozen_weights": [2.0]}
    return pk.simulate(pk.Attention(d=2, beta=4.0), x0, 2.0, times="steps", tol=1e-3, **options)


def same_run(run, other):
    names = ("times", "tokens", "dense", "frozen", "frozen_weights", "spin")
    return (
        run.model == other.model
        and run.stats == other.stats
        and run.trusted_until == other.trusted_until
        and all(np.array_equal(getattr(run, name), getattr(other, name)) for name in names)
    )


def test_damaged_runs(run, tmp_path):
    path = tmp_path / "run.npz"
    run.save(path)

    def read(data):
        path.write_bytes(data)
        return at_work(pk.load(path))

    campaign("run.npz", path.read_bytes(), read, lambda value: same_run(value, run))


def rewrite(path, arrays):
    """Write an archive as `numpy.savez` would, from bytes of .npy files."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in arrays.items():
            archive.writestr(name, data)


def test_damage_inside_of_an_archive(run, tmp_path):
    # The archive itself is valid and has no checksum; its contents are damaged.
    run.save(tmp_path / "whole.npz")
    with zipfile.ZipFile(tmp_path / "whole.npz") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    path = tmp_path / "run.npz"
    for case in range(CASES):
        rng = np.random.default_rng(case)
        changed = dict(members)
        one, two = rng.choice(sorted(members), 2, replace=False)
        if case % 3 == 0:
            changed[one], changed[two] = changed[two], changed[one]
            story = f"case {case}: {one} and {two} exchanged"
        else:
            changed[one], story = damaged(members[one], case, str(one))
        rewrite(path, changed)
        _, sentence = outcome(story, lambda: at_work(pk.load(path)))
        assert not sentence or ("run.npz" in sentence and "\n" not in sentence), story


# --- stores ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ensemble") / "store"
    made = pk.ensemble(
        d=2, n=4, beta=[1.0, 9.0], V={"turn": np.array([[1.0, -1.0], [1.0, 1.0]])}, runs=2,
        t_end=1.0, times=[0.0, 1.0], measure=["final", "clusters"], batch=2, store=folder,
    )  # fmt: skip
    return folder, made


def reader(folder, name, tmp_path):
    """A function that loads a copy of a store with other bytes in one file."""
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)

    def read(data):
        (copy / name).write_bytes(data)
        return pk.load_ensemble(copy)

    return (folder / name).read_bytes(), read


@pytest.mark.parametrize("name", ["batch-000001.nc", "recipe.json"])
def test_damaged_stores(store, name, tmp_path):
    folder, made = store
    whole, read = reader(folder, name, tmp_path)
    campaign(name, whole, read, made.identical)


# --- files of others ---------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".npy", ".csv", ".txt"])
def test_damaged_tokens(suffix, tmp_path):
    path = tmp_path / f"tokens{suffix}"
    tokens = pk.sphere.uniform(12, 3, seed=0)
    if suffix == ".npy":
        np.save(path, tokens)
    else:
        np.savetxt(path, tokens, delimiter="," if suffix == ".csv" else " ")

    def read(data):
        path.write_bytes(data)
        return check.tokens(parse.tokens("--tokens", path))

    campaign(f"tokens{suffix}", path.read_bytes(), read, lambda x: np.isfinite(x).all())


def test_damaged_descriptions(tmp_path):
    path = tmp_path / "sweep.toml"
    whole = b"d = 2\nn = [4, 8]\nbeta = [1, 4]\nruns = 4\nt_end = 5\nmeasure = ['clusters']\n"

    def read(data):
        path.write_bytes(data)
        return read_recipe(path).to_json()

    campaign("sweep.toml", whole, read)


# --- results -----------------------------------------------------------------------------


def test_damaged_results_are_noticed(tmp_path, monkeypatch):
    (made,) = reproduce("staircase", tmp_path)

    def measure(effort):
        raise pk.ParkadeError("made again")

    exhibit = dataclasses.replace(FIGURES["staircase"], measure=measure)
    monkeypatch.setitem(FIGURES, "staircase", exhibit)
    assert reproduce("staircase", tmp_path)[0].reused
    files = [tmp_path / "staircase.json", *made.paths]
    for path in files:
        whole = path.read_bytes()
        record = json.loads(whole) if path.suffix == ".json" else None

        def read(data, path=path):
            path.write_bytes(data)
            reproduce("staircase", tmp_path)
            return data

        def same(data, whole=whole, record=record):
            return data == whole or (record is not None and json.loads(data) == record)

        campaign(path.name, whole, read, same, cases=-(-CASES // len(files)))
        path.write_bytes(whole)
