"""The store of an ensemble: kills, full disks and lost workers, with real processes."""

from __future__ import annotations

import functools
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import netCDF4
import numpy as np
import pytest
import xarray
from support.caches import copy_without
from support.common import without_patience
from typer.testing import CliRunner

import parkade as pk
from parkade.cli import app
from parkade.cli.sweep import read_recipe
from parkade.sweeps.store import Store

KILLS = int(os.environ.get("PARKADE_KILLS", "2"))
"""How often the main process is killed; the full test uses 20."""

# Batches of two short runs: most of the time is spent writing files.
FILE = """\
d = 2
n = 6
beta = [1, 9]
runs = {runs}
batch = 2
t_end = 1
times = [0, 0.5, 1]
measure = ["final", "clusters"]
"""


# Few batches, each of which takes its time without any work: the sweep is not finished before it
# is disturbed. Workers import this file, too.
SLOW = """\
import time
from parkade.sweeps.store import Store

write = Store.write
def write_slowly(*batch):
    time.sleep(0.3)
    return write(*batch)
Store.write = write_slowly

if __name__ == "__main__":
    from parkade.cli import main
    main()
"""
RUNS = 8

VERSIONS = {"parkade", "numpy", "python", "numba", "llvm", "cpu"}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text(FILE.format(runs=RUNS))
    path.with_name("slow.py").write_text(SLOW)
    return path


def begin(file, *options, program=(), **settings):
    """Start a slow command, or another; return its process after one more batch."""
    program = program or (str(file.with_name("slow.py")),)
    store = Store(file.with_suffix(""), read_recipe(file))
    before = len(store.done())
    command = [sys.executable, *program, "sweep", str(file), *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **settings)
    deadline = time.monotonic() + 300
    while process.poll() is None and len(store.done()) == before:
        assert time.monotonic() < deadline
        time.sleep(0.002)
    return process, store


# It takes as long to import xarray as to do all else.
WITHOUT_XARRAY = """
import sys
sys.modules["xarray"] = None
from parkade.cli import main
main()
"""


def sweep(file, *options, **settings):
    """Run the command to its end."""
    command = [sys.executable, "-c", WITHOUT_XARRAY, "sweep", str(file), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, **settings)
    done.stderr = without_patience(done.stderr)
    return done


def invoke(*arguments):
    """Run the command in this process."""
    return CliRunner().invoke(app, list(map(str, arguments)))


def contents(store):
    """The bytes of all finished batches, each of which must be complete."""
    found = {}
    for batch in store.done():
        data = store.file(batch).read_bytes()
        with netCDF4.Dataset("batch.nc", memory=data) as opened:
            assert opened["final"][:].shape == (2, 6, 2)
            assert opened.recipe == store.recipe.to_json()
            assert set(json.loads(opened.versions)) == VERSIONS
        found[batch] = data
    return found


@functools.cache
def undisturbed(runs):
    """The ensemble of a file, run without disturbance."""
    return pk.ensemble(
        d=2, n=6, beta=[1, 9], runs=runs, batch=2, t_end=1.0,
        times=[0, 0.5, 1], measure=["final", "clusters"], workers=1,
    )  # fmt: skip


def assert_finishes(file, store, kept):
    """Finish the sweep: kept batches are unchanged, and the result is as if undisturbed."""
    done = sweep(file)
    assert (done.returncode, done.stderr) == (0, "")
    after = contents(store)
    assert len(after) == store.recipe.batches
    assert {batch: after[batch] for batch in kept} == kept
    ds, expected = pk.load_ensemble(store.path), undisturbed(store.recipe.runs)
    assert ds.identical(expected)
    assert all(ds[name].values.tobytes() == expected[name].values.tobytes() for name in ds)


def children(pid, words="spawn_main"):
    """Processes that `pid` started with these words in their command."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == pid and words in (path / "cmdline").read_text():
                found.append(int(path.name))
        except OSError:  # it has ended
            pass
    return found


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


def test_killed_again_and_again_it_loses_no_finished_batch_and_no_bit(file):
    file.write_text(FILE.format(runs=24 * KILLS))
    moments = random.Random(0)
    kept = {}
    for _ in range(KILLS):
        process, store = begin(file, program=("-m", "parkade"))
        time.sleep(moments.uniform(0.0, 0.08))
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        after = contents(store)
        assert {batch: after[batch] for batch in kept} == kept
        assert len(kept) < len(after) < store.recipe.batches
        kept = after
    assert_finishes(file, store, kept)


PRELOADED = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from support.bits import preload
from parkade.cli import main
from parkade.sweeps.store import Store

write = Store.write
def write_and_die(*batch):
    write(*batch)
    os.kill(os.getpid(), signal.SIGKILL)
Store.write = write_and_die
preload()
main()
"""


@needs_proc
def test_one_killed_after_compiling_and_one_that_loads_the_code_make_the_same_bits(file, tmp_path):
    """Implicit steps with direct sums: for these, code once depended on what was loaded before.

    So the one that compiles has loaded functions that the engine is made of.
    """
    settings = {
        "d": 2, "n": 40, "beta": [9.0], "runs": 6, "batch": 2, "t_end": 1e6, "sums": "direct",
        "times": [0.0, 1.0, 1e6], "measure": ["final"],
    }  # fmt: skip
    file.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items()))
    variables = os.environ | copy_without(tmp_path / "cache", "implicit.advance")
    process, store = begin(file, "--workers", "1", program=("-c", PRELOADED), env=variables)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert any((tmp_path / "cache").rglob("implicit.advance-*.nbc"))
    assert len(store.done()) == 1
    assert sweep(file, env=variables).returncode == 0
    found, expected = pk.load_ensemble(store.path), pk.ensemble(**settings, workers=1)
    assert found["final"].values.tobytes() == expected["final"].values.tobytes()


def test_a_killed_worker_ends_the_sweep_and_costs_its_batch(file):
    process, store = begin(file, "--pool", "processes", "--workers", "2")
    os.kill(children(process.pid)[0], signal.SIGKILL)
    said = without_patience(process.communicate(timeout=60)[1])
    kept = contents(store)
    assert process.returncode == 2
    told = re.fullmatch(
        r"parkade: a worker process died \(killed, or out of memory\); (\d+) of (\d+) batches are "
        rf"kept in {re.escape(str(store.path))}: run it again to continue\n",
        said,
    )
    assert told is not None, said
    # The other worker may have finished one more batch before it stopped.
    assert len(kept) - 1 <= int(told[1]) <= len(kept) < int(told[2]) == store.recipe.batches
    # Workers do not outlive a killed main process.
    process, _ = begin(file, "--pool", "processes", "--workers", "2")
    workers = children(process.pid)
    assert len(workers) == 2
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{worker}/cmdline").exists() for worker in workers):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert_finishes(file, store, contents(store))


@pytest.mark.parametrize("pool", ["threads", "processes"])
def test_ctrl_c_keeps_what_is_done(file, pool):
    process, store = begin(file, "--pool", pool, "--workers", "2", start_new_session=True)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers as well
    said = without_patience(process.communicate(timeout=60)[1])
    kept = contents(store)
    assert process.returncode == 130
    assert said == (
        f"parkade: interrupted; {len(kept)} of {store.recipe.batches} batches are kept in "
        f"{store.path}; run the same command again to continue\n"
    )
    told = json.loads(invoke("sweep", file, "--status", "--json").stdout)
    assert (told["batches_done"], told["batches"]) == (len(kept), store.recipe.batches)
    if pool == "threads":
        assert_finishes(file, store, kept)


def test_a_full_disk_is_reported_and_destroys_nothing(file):
    process, store = begin(file)
    process.kill()
    process.communicate()
    kept = contents(store)
    # The kill may have left a temporary file behind; the full disk must not leave another.
    before = set(store.path.iterdir())

    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    no_bytecode = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}  # half of it would stay
    done = sweep(file, preexec_fn=small_files, env=no_bytecode)
    assert done.returncode == 2
    assert done.stderr.startswith(f"parkade: cannot write {store.path}/batch-0")
    assert f"File too large; {len(kept)} of {store.recipe.batches} batches are kept" in done.stderr
    assert contents(store) == kept
    assert set(store.path.iterdir()) <= before


def test_an_impossible_store_is_refused(file, tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("mine")
    done = invoke("sweep", file, "--store", plain)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"parkade: cannot make the directory {plain}: ")
    assert plain.read_text() == "mine"
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    if os.access(closed, os.W_OK):  # as root
        closed = Path("/proc/self/fdinfo")
    done = invoke("sweep", file, "--store", closed)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"parkade: cannot write {closed}/recipe.json: ")
    assert len(done.stderr.splitlines()) == 1


def test_another_recipe_is_refused_and_foreign_files_stay(tmp_path):
    options = {"d": 2, "n": 4, "runs": 2, "t_end": 1.0, "measure": "final", "store": tmp_path}
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


@pytest.mark.parametrize("damage", ["cut", "exchanged", "renamed", "emptied"])
def test_a_damaged_file_is_named(tmp_path, damage):
    options = {"d": 2, "n": 4, "runs": 2, "t_end": 1.0, "batch": 1}
    pk.ensemble(**options, store=tmp_path / "one")
    pk.ensemble(**options, store=tmp_path / "other", seed=1)
    target = tmp_path / "one" / "batch-000001.nc"
    if damage == "exchanged":
        target.write_bytes((tmp_path / "other" / target.name).read_bytes())
        message = (
            r"batch-000001.nc: it belongs to another ensemble: seed \(1 in the store, 0 requested\)"
        )
    elif damage == "renamed":
        target.with_name("batch-000000.nc").replace(target)
        target.with_name("batch-000000.nc").write_bytes(target.read_bytes())
        message = r"batch-000001.nc: it belongs to .* batch number \(0 in the store, 1 requested\)"
    else:
        target.write_bytes(target.read_bytes()[: 5000 if damage == "cut" else 0])
        message = r"1 of the batches in .* damaged: batch-000001.nc \(.*\); run the ensemble again"
    with pytest.raises(pk.ParkadeError, match=message):
        pk.load_ensemble(tmp_path / "one")


DAMAGED = {"d": 2, "n": 4, "beta": [1.0, 9.0], "runs": 3, "t_end": 1.0, "batch": 1}


def flip(path, place):
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def test_damaged_batches_are_computed_anew_with_the_same_bits(tmp_path):
    whole = pk.ensemble(**DAMAGED, store=tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    bad = ("batch-000001.nc", "batch-000004.nc")
    for name in bad:
        flip(tmp_path / name, len(before[name]) // 2)
    message = (
        r"2 of the batches in .* are damaged: batch-000001.nc \(its checksum does not match\), "
    )
    with pytest.raises(pk.ParkadeError, match=message + r"batch-000004.nc .* to recompute them"):
        pk.load_ensemble(tmp_path)
    moved = r"are computed again; see batch-000001.nc.damaged, batch-000004.nc.damaged"
    with pytest.warns(UserWarning, match=moved):
        again = pk.ensemble(**DAMAGED, store=tmp_path)
    assert again.identical(whole)
    assert all(again[name].values.tobytes() == whole[name].values.tobytes() for name in whole)
    # The others are unchanged.
    after = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert all(after[name] == before[name] for name in before.keys() - bad)
    assert after.keys() == before.keys() | {f"{name}.damaged" for name in bad}


def test_every_bit_of_a_batch_counts(tmp_path):
    pk.ensemble(**DAMAGED, store=tmp_path)
    path = tmp_path / "batch-000002.nc"
    whole = path.read_bytes()
    for place in np.random.default_rng(0).integers(len(whole), size=60):
        flip(path, place)
        with pytest.raises(pk.ParkadeError, match=r"batch-000002.nc \("):
            pk.load_ensemble(tmp_path)
        path.write_bytes(whole)
    # Other programs can still read the file.
    with netCDF4.Dataset(path) as opened, xarray.open_dataset(path) as read:
        assert np.array_equal(opened["clusters"][:], read.clusters)


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


def test_a_store_of_the_old_format_can_be_continued(tmp_path):
    shutil.unpack_archive(Path(__file__).parents[1] / "data" / "old-store.zip", tmp_path)
    options = {
        "d": 2, "n": 3, "beta": [1.0, 9.0], "runs": 1, "batch": 1, "t_end": 1.0,
        "times": [0.0, 1.0], "measure": ["clusters"], "store": tmp_path,
    }  # fmt: skip
    old = pk.load_ensemble(tmp_path)
    assert old.clusters.values.tolist() == [[[3, 3]], [[3, 3]]]
    (tmp_path / "batch-000001.nc").unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # other versions may have made the old batch
        assert pk.ensemble(**options).equals(old)
    store = Store.open(tmp_path)
    assert store.check().unsealed == ["batch-000000.nc"]
    # Damage that the netCDF library notices is repaired as well.
    path = tmp_path / "batch-000000.nc"
    path.write_bytes(path.read_bytes()[:5000])
    assert list(store.check().bad) == ["batch-000000.nc"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert pk.ensemble(**options).equals(old)
    assert store.check().unsealed == []


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


def test_other_versions_are_noticed(tmp_path, monkeypatch):
    options = {"d": 2, "n": 4, "runs": 2, "t_end": 1.0, "store": tmp_path, "batch": 1}
    before = pk.__version__
    pk.ensemble(**options)
    (tmp_path / "batch-000001.nc").unlink()
    monkeypatch.setattr("parkade.__version__", "99")
    with pytest.warns(UserWarning, match=r"made with different versions"):
        ds = pk.ensemble(**options)
    assert {v["parkade"] for v in json.loads(ds.attrs["versions"])} == {before, "99"}


DASK = """
import os, subprocess, sys, threading, time
import slow
from distributed import Client, LocalCluster
from parkade.cli import app
from parkade.cli.sweep import read_recipe
from parkade.sweeps.ensemble import complete
from parkade.sweeps.store import Store
from pathlib import Path

file = Path(sys.argv[1])
store = Store(file.with_suffix(""), read_recipe(file))
with LocalCluster(n_workers=0, dashboard_address=None, protocol="tcp") as cluster:
    # Without a nanny, which would start another one for the victim.
    command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address]
    command += ["--no-nanny", "--no-dashboard", "--nthreads", "1"]
    workers = [subprocess.Popen(command, stderr=subprocess.DEVNULL) for _ in range(2)]
    victim = workers[0]

    def strike():
        while not store.done():
            time.sleep(0.002)
        victim.kill()

    try:
        with Client(cluster) as client:
            client.wait_for_workers(2, timeout=60)
            client.run(exec, Path(slow.__file__).read_text(), {})
            killer = threading.Thread(target=strike)
            killer.start()
            complete(store, client.get_executor())
            killer.join()
            victim.wait()
            options = ["--scheduler", cluster.scheduler_address]
            app(["sweep", sys.argv[2], *options], prog_name="parkade", standalone_mode=False)
            print("victim", victim.pid, "pids", *client.run(os.getpid).values())
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
"""


def test_dask_goes_on_without_a_killed_worker(file, tmp_path):
    pytest.importorskip("distributed")
    small = tmp_path / "small.toml"
    small.write_text(FILE.format(runs=4))
    script = tmp_path / "cluster.py"
    script.write_text(DASK)
    command = [sys.executable, str(script), str(file), str(small)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    words = done.stdout.split()
    assert words[words.index("victim") + 1] not in words[words.index("pids") + 1 :]
    assert pk.load_ensemble(file.with_suffix("")).identical(undisturbed(RUNS))
    assert pk.load_ensemble(small.with_suffix("")).identical(undisturbed(4))


def test_a_closed_executor_is_reported(tmp_path):
    with ThreadPoolExecutor(1) as pool:
        options = {"d": 2, "n": 4, "runs": 40, "t_end": 1.0, "batch": 1, "store": tmp_path}
        begun = threading.Timer(0.1, pool.shutdown, kwargs={"wait": False, "cancel_futures": True})
        pool.submit(time.sleep, 0.3)
        begun.start()
        with pytest.raises(pk.ParkadeError, match=r"cancelled its batches; 0 of 40 batches"):
            pk.ensemble(**options, executor=pool)
    with pytest.raises(pk.InputError, match=r"workers applies to .* only, got an Executor"):
        pk.ensemble(**options, executor=pool, workers=2)


def test_some_variables_can_be_read(tmp_path):
    whole = pk.ensemble(d=2, n=4, runs=3, t_end=1.0, store=tmp_path)
    assert pk.load_ensemble(tmp_path, variables=["largest"]).identical(whole[["largest"]])
    with pytest.raises(pk.InputError, match=r"variables must be one of 'clusters', 'largest'"):
        pk.load_ensemble(tmp_path, variables=["size"])


def test_too_little_memory_is_reported_before_any_run(tmp_path, little_memory):
    with pytest.raises(pk.InputError, match=r"the ensemble needs .* use parkade sweep"):
        pk.ensemble(d=2, n=5, runs=900, t_end=1.0, batch=300, store=tmp_path / "store", times=[1])
    with pytest.raises(pk.InputError, match=r"a run of 100 tokens in d=2 needs .* lower n or d"):
        pk.ensemble(d=2, n=100, runs=1, t_end=1.0, store=tmp_path / "store")
    with pytest.raises(pk.InputError, match=r"measuring a batch of 50 runs needs .* measure less"):
        pk.ensemble(d=2, n=5, runs=900, t_end=1.0, batch=50, store=tmp_path / "store")
    assert not (tmp_path / "store").exists()
