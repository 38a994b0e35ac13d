"""The store of an ensemble: what is in it, what does not belong to it, and what is damaged."""

from __future__ import annotations

import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from support import commands
from support.common import same_bits

import parkade as pk
from parkade.sweeps.store import Store


def test_an_impossible_store_is_refused(tmp_path):
    file = tmp_path / "sweep.toml"
    file.write_text("d = 2\nn = 6\nruns = 2\nt_end = 1\n")

    def invoke(store):
        return commands.invoke("sweep", file, "--store", store)

    plain = tmp_path / "plain"
    plain.write_text("mine")
    done = invoke(plain)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"parkade: cannot make the directory {plain}: ")
    assert plain.read_text() == "mine"
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    if os.access(closed, os.W_OK):  # as root
        closed = Path("/proc/self/fdinfo")
    done = invoke(closed)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"parkade: cannot write {closed}/recipe.json: ")
    assert len(done.stderr.splitlines()) == 1


def test_another_recipe_is_refused_and_foreign_files_stay(tmp_path):
    options = {"d": 2, "n": 4, "runs": 2, "t_end": 1.0, "measure": "centers", "store": tmp_path}
    foreign = {
        "notes.txt": b"mine",
        "batch-1.nc": b"not yours",
        ".batch": b"",
        "batch-000099.nc": b"",
    }
    for name, data in foreign.items():
        (tmp_path / name).write_bytes(data)
    first = pk.ensemble(beta=[1.0, 2.0], **options)
    with pytest.raises(
        pk.InputError,
        match=r"contains another ensemble: beta \(\[1\.0, 2\.0\] in the store, 3\.0 requested\); "
        r"c \(4\.0 in the store, null requested\); seed \(0 in the store, 1 requested\); "
        r"delta \(null in the store, 0\.5 requested\); use another store",
    ):
        pk.ensemble(beta=3.0, seed=1, delta=0.5, **{**options, "batch": 1})
    assert pk.load_ensemble(tmp_path).identical(first)
    for name, data in foreign.items():
        assert (tmp_path / name).read_bytes() == data


def test_of_two_ensembles_that_begin_at_once_one_is_refused(tmp_path, monkeypatch):
    options = {"d": 2, "n": 4, "runs": 2, "t_end": 1.0, "store": tmp_path}
    recipe = Store.open(prepared(tmp_path / "one", seed=1)).recipe
    record = Store._record

    def too_late(store, **how):
        monkeypatch.undo()
        Store(tmp_path, recipe).prepare()  # another process, which is faster
        return record(store, **how)

    monkeypatch.setattr(Store, "_record", too_late)
    with pytest.raises(pk.InputError, match=r"another ensemble: seed \(1 in the store, 0 req"):
        pk.ensemble(**options)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "recipe.json"]
    pk.ensemble(**options, seed=1)


def prepared(folder, seed):
    """The store of a small ensemble."""
    pk.ensemble(d=2, n=4, runs=2, t_end=1.0, batch=1, store=folder, seed=seed)
    return folder


def test_without_a_recipe_the_batches_decide(tmp_path):
    options = {"d": 2, "n": 4, "t_end": 1.0, "batch": 1, "store": prepared(tmp_path, seed=1)}
    whole = pk.load_ensemble(tmp_path)
    before = (tmp_path / "recipe.json").read_bytes()
    (tmp_path / "recipe.json").unlink()
    with pytest.raises(pk.ParkadeError, match=r"batch-000000.nc: it belongs to another ensemble"):
        pk.ensemble(**options, runs=2, seed=0)
    (tmp_path / "batch-000000.nc").unlink()  # a batch that a smaller ensemble has not counts, too
    with pytest.raises(pk.ParkadeError, match=r"batch-000001.nc: it belongs to another ensemble"):
        pk.ensemble(**options, runs=1, seed=1)
    assert not (tmp_path / "recipe.json").exists()
    assert pk.ensemble(**options, runs=2, seed=1).identical(whole)
    assert (tmp_path / "recipe.json").read_bytes() == before


def test_unfinished_files_go_once_they_are_abandoned(tmp_path):
    old, young = (tmp_path / f".batch-00000{i}.nc.parkade-00000000-1-abcd1234" for i in (0, 1))
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    pk.ensemble(d=2, n=4, runs=2, t_end=1.0, store=tmp_path)
    assert not old.exists()
    assert young.exists()


def test_a_part_can_be_read(tmp_path):
    options = {"d": 2, "n": 4, "runs": 3, "t_end": 1.0, "store": tmp_path, "batch": 1}
    whole = pk.ensemble(**options)
    (tmp_path / "batch-000001.nc").unlink()
    with pytest.raises(pk.ParkadeError, match=r"1 of 3 batches are missing in .* partial=True"):
        pk.load_ensemble(tmp_path)
    part = pk.load_ensemble(tmp_path, partial=True)
    assert np.isnan(part.clusters.sel(run=1)).all()
    for run in (0, 2):
        assert np.array_equal(part.clusters.sel(run=run), whole.clusters.sel(run=run))
    assert pk.ensemble(**options).identical(whole)


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("other/batch-000001.nc", r"another ensemble: seed \(1 in the store, 0 requested\)"),
        ("one/batch-000000.nc", r".* batch number \(0 in the store, 1 requested\)"),
    ],
)
def test_a_batch_in_the_place_of_another_is_named(tmp_path, file, message):
    prepared(tmp_path / "one", seed=0)
    prepared(tmp_path / "other", seed=1)
    shutil.copy(tmp_path / file, tmp_path / "one" / "batch-000001.nc")
    with pytest.raises(pk.ParkadeError, match=rf"batch-000001.nc: it belongs to {message}"):
        pk.load_ensemble(tmp_path / "one")


DAMAGED = {"d": 2, "n": 4, "beta": [1.0, 9.0], "runs": 3, "t_end": 1.0, "batch": 1}


def test_damaged_batches_are_computed_anew_with_the_same_bits(tmp_path):
    whole = pk.ensemble(**DAMAGED, store=tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    bad = ("batch-000001.nc", "batch-000004.nc")
    for name in bad:
        half = len(before[name]) // 2
        (tmp_path / name).write_bytes(before[name][:half])
    message = (
        r"2 of the batches in .* are damaged: batch-000001.nc \(its checksum does not match\), "
    )
    with pytest.raises(pk.ParkadeError, match=message + r"batch-000004.nc .* to recompute them"):
        pk.load_ensemble(tmp_path)
    moved = r"are computed again; see batch-000001.nc.damaged, batch-000004.nc.damaged"
    with pytest.warns(UserWarning, match=moved):
        again = pk.ensemble(**DAMAGED, store=tmp_path)
    assert same_bits(again, whole)
    # The others are unchanged.
    after = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert all(after[name] == before[name] for name in before.keys() - bad)
    assert after.keys() == before.keys() | {f"{name}.damaged" for name in bad}


def test_a_damaged_recipe_is_written_anew_if_the_batches_have_it(tmp_path):
    whole = pk.ensemble(**DAMAGED, store=tmp_path)
    path = tmp_path / "recipe.json"
    before = path.read_bytes()
    path.write_bytes(before.replace(b'"runs": 3', b'"runs": 2'))
    with pytest.raises(pk.InputError, match=r"recipe.json \(its checksum does not match\); run"):
        pk.load_ensemble(tmp_path)
    with pytest.raises(pk.ParkadeError, match=r"belongs to another ensemble: runs"):
        pk.ensemble(**{**DAMAGED, "runs": 2}, store=tmp_path)
    assert pk.ensemble(**DAMAGED, store=tmp_path).identical(whole)
    assert path.read_bytes() == before
    # Without batches the file may not be ours.
    other = tmp_path / "other"
    other.mkdir()
    (other / "recipe.json").write_text('{"cake": "apples"}')
    with pytest.raises(pk.InputError, match=r"use another store"):
        pk.ensemble(**DAMAGED, store=other)
    assert (other / "recipe.json").read_text() == '{"cake": "apples"}'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, r"there is no store"),
        ({}, r"is not the store of an ensemble: it has no recipe.json"),
        ({"recipe.json": "{}"}, r"cannot read .*recipe.json .*use another store"),
        ({"recipe.json": '{"format": "x"}'}, r"cannot read .*recipe.json .*use another store"),
    ],
)
def test_what_is_no_store_is_refused(tmp_path, content, message):
    folder = tmp_path / "store"
    if content is not None:
        folder.mkdir()
        for name, text in content.items():
            (folder / name).write_text(text)
    with pytest.raises(pk.InputError, match=message):
        pk.load_ensemble(folder)


class Closing(ThreadPoolExecutor):
    """A pool with one busy worker that is closed once it has got this number of tasks."""

    def __init__(self, tasks):
        super().__init__(1)
        self.left = tasks
        self.release = threading.Event()
        super().submit(self.release.wait)

    def submit(self, *task):
        future = super().submit(*task)
        self.left -= 1
        if self.left == 0:
            self.shutdown(wait=False, cancel_futures=True)
        return future


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        (40, r"the executor cancelled its batches; 0 of 40 batches are kept"),
        (3, r"the executor takes no more batches \(cannot schedule .*\); 0 of 40 batches are kept"),
    ],
)
def test_a_closed_executor_is_reported(tmp_path, tasks, message):
    options = {"d": 2, "n": 4, "runs": 40, "t_end": 1.0, "batch": 1, "store": tmp_path}
    with Closing(tasks) as pool:
        try:
            with pytest.raises(pk.ParkadeError, match=message):
                pk.ensemble(**options, executor=pool)
        finally:
            pool.release.set()
    with pytest.raises(pk.InputError, match=r"workers applies to .* only, got an Executor"):
        pk.ensemble(**options, executor=pool, workers=2)


def test_some_variables_can_be_read(tmp_path):
    whole = pk.ensemble(d=2, n=4, runs=3, t_end=1.0, store=tmp_path)
    assert pk.load_ensemble(tmp_path, variables=["largest"]).identical(whole[["largest"]])
    with pytest.raises(pk.InputError, match=r"variables must be one of 'clusters', 'largest'"):
        pk.load_ensemble(tmp_path, variables=["size"])


def test_too_little_memory_is_reported_before_any_run(tmp_path, little_memory):
    with pytest.raises(pk.InputError, match=r"the ensemble needs .* use parkade sweep"):
        pk.ensemble(d=2, n=5, runs=600, t_end=1.0, batch=200, store=tmp_path / "store", times=[1])
    with pytest.raises(pk.InputError, match=r"a run of 100 tokens in d=2 needs .* lower n or d"):
        pk.ensemble(d=2, n=100, runs=1, t_end=1.0, store=tmp_path / "store")
    with pytest.raises(pk.InputError, match=r"measuring a batch of 50 runs needs .* measure less"):
        pk.ensemble(d=2, n=5, runs=900, t_end=1.0, batch=50, store=tmp_path / "store")
    assert not (tmp_path / "store").exists()
