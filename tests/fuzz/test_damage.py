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
from support.damage import DAMAGES, outcome

import parkade as pk
from parkade.base import check
from parkade.cli import parse
from parkade.cli.sweep import read_recipe
from parkade.experiments.figures.registry import FIGURES
from parkade.experiments.reproduce import reproduce

CASES = int(os.environ.get("PARKADE_FUZZ", "60"))


def damaged(whole, case, kind):
    """A damaged copy of bytes, and a description of the damage."""
    rng = np.random.default_rng([case, *kind.encode()])
    data, damage = bytearray(whole), DAMAGES[case % len(DAMAGES)]
    damage(data, rng)
    return bytes(data), f"{kind}, case {case}: {damage.__name__}"


def campaign(path, read, same=None, cases=CASES):
    """Read damaged copies of a file; `same` compares the result with the expected one."""
    whole, refused = path.read_bytes(), 0
    for case in range(cases):
        data, story = damaged(whole, case, path.name)
        path.write_bytes(data)
        value, sentence = outcome(story, read, path)
        refused += bool(sentence)
        assert sentence or same is None or same(value), f"{story}: other data came back"
    # Most damage is detected; the rest must have hit unused bytes.
    assert refused >= cases // 4
    path.write_bytes(whole)


# --- runs --------------------------------------------------------------------------------


def load_and_use(path):
    """Load a run and use it: whatever `load` accepts must work."""
    run = pk.load(path)
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
    campaign(path, load_and_use, lambda value: same_run(value, run))


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
        with zipfile.ZipFile(path, "w") as archive:  # as `numpy.savez` does
            for name, data in changed.items():
                archive.writestr(name, data)
        _, sentence = outcome(story, load_and_use, path)
        assert not sentence or "run.npz" in sentence, story


# --- stores ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ensemble") / "store"
    made = pk.ensemble(
        d=2, n=4, beta=[1.0, 9.0], V={"turn": np.array([[1.0, -1.0], [1.0, 1.0]])}, runs=2,
        t_end=1.0, times=[0.0, 1.0], measure=["final", "clusters"], batch=2, store=folder,
    )  # fmt: skip
    return folder, made


@pytest.mark.parametrize("name", ["batch-000001.nc", "recipe.json"])
def test_damaged_stores(store, name, tmp_path):
    folder, made = store
    copy = shutil.copytree(folder, tmp_path / "copy")
    campaign(copy / name, lambda path: pk.load_ensemble(path.parent), made.identical)


# --- files of others ---------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".npy", ".csv", ".txt"])
def test_damaged_tokens(suffix, tmp_path):
    path = tmp_path / f"tokens{suffix}"
    tokens = pk.sphere.uniform(12, 3, seed=0)
    if suffix == ".npy":
        np.save(path, tokens)
    else:
        np.savetxt(path, tokens, delimiter="," if suffix == ".csv" else " ")
    campaign(
        path,
        lambda path: check.tokens(parse.tokens("--tokens", path)),
        lambda x: np.isfinite(x).all(),
    )


def test_damaged_descriptions(tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text(
        "d = 2\nn = [4, 8]\nbeta = [1, 4]\nruns = 4\nt_end = 5\nmeasure = ['clusters']\n"
    )
    campaign(path, lambda path: read_recipe(path).to_json())


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

        def read(path):
            reproduce("staircase", tmp_path)
            return path.read_bytes()

        def same(data, whole=whole, record=record):
            return data == whole or (record is not None and json.loads(data) == record)

        campaign(path, read, same, cases=-(-CASES // len(files)))
