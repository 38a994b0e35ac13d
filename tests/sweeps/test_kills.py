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
import time
from pathlib import Path

import netCDF4
import pytest
import xarray
from support import killed
from support.bits import KEPT
from support.caches import copy_without
from support.commands import invoke
from support.common import same_bits, until, without_patience

import parkade as pk
from parkade.cli.sweep import read_recipe
from parkade.sweeps.store import Store
from parkade.sweeps.versions import versions

KILLS = int(os.environ.get("PARKADE_KILLS", "4"))
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


# A process runs a number of batches, then waits until it is disturbed, or until there is a file.
# So no sweep is finished before it is disturbed. Workers import this file, too.
HELD = """\
import os, time
from itertools import count
from pathlib import Path
from parkade.sweeps import batch

simulate, number, most = batch.simulate, count(1), int(os.environ["BATCHES"])
def simulate_some(recipe, index, cancelled):
    if next(number) > most:
        while not (cancelled() or Path(os.environ["GO"]).exists()):
            time.sleep(0.01)
    return simulate(recipe, index, cancelled)
batch.simulate = simulate_some

if __name__ == "__main__":
    from parkade.cli import main
    main()
"""
RUNS = 8
LONG = 300  # seconds: by then something hangs


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text(FILE.format(runs=RUNS))
    path.with_name("held.py").write_text(HELD)
    return path


def held(folder, batches=1):
    """Variables of a process that runs this number of batches."""
    return os.environ | {"BATCHES": str(batches), "GO": str(folder / "go")}


def begin(file, *options, batches=1, **settings):
    """Start a command whose processes run these batches each; return it after one more batch."""
    store = Store(file.with_suffix(""), read_recipe(file))
    before = len(store.done())
    command = [sys.executable, str(file.with_name("held.py")), "sweep", str(file), *options]
    variables = held(file.parent, batches)
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env=variables, **settings
    )
    until(lambda: process.poll() is not None or len(store.done()) > before)
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
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG, **settings)
    done.stderr = without_patience(done.stderr)
    return done


def contents(store, n=6):
    """The bytes of all finished batches, each of which must be complete."""
    files = {}
    for batch in store.done():
        data = store.file(batch).read_bytes()
        with netCDF4.Dataset("batch.nc", memory=data) as opened:
            assert opened["final"][:].shape == (2, n, 2)
            assert opened.recipe == store.recipe.to_json()
            assert json.loads(opened.versions).keys() == versions().keys()
        files[batch] = data
    return files


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
    assert same_bits(pk.load_ensemble(store.path), undisturbed(store.recipe.runs))


def children(pid, words="spawn_main"):
    """Processes that `pid` started with these words in their command."""
    pids = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == pid and words in (path / "cmdline").read_text():
                pids.append(int(path.name))
        except OSError:  # it has ended
            pass
    return pids


def test_killed_again_and_again_it_loses_no_finished_batch_and_no_bit(file):
    file.write_text(FILE.format(runs=24 * KILLS))
    moments = random.Random(0)
    kept = {}
    for _ in range(KILLS):
        process, store = begin(file, batches=12)  # a fourth of all
        time.sleep(moments.uniform(0.0, 0.08))
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        after = contents(store)
        assert {batch: after[batch] for batch in kept} == kept
        assert len(kept) < len(after) < store.recipe.batches
        kept = after
    assert_finishes(file, store, kept)


@pytest.fixture
def after_compiling(tmp_path):
    """The file of a sweep that was killed in the process that compiled, and its store."""
    left = killed.file_in(KEPT.parent)
    if not left.exists():  # the code was there before; so one more process compiles
        left = killed.file_in(tmp_path)
        missing = copy_without(tmp_path / "cache", "steps.implicit.advance")
        command = [sys.executable, killed.__file__, str(tmp_path)]
        subprocess.run(command, env=os.environ | missing, check=True)
    file = tmp_path / "sweep.toml"
    shutil.copy(left, file)
    shutil.copytree(left.with_suffix(""), file.with_suffix(""))
    return file, Store(file.with_suffix(""), read_recipe(file))


def test_one_killed_after_compiling_and_one_that_loads_the_code_make_the_same_bits(after_compiling):
    file, store = after_compiling
    assert len(store.done()) == 1 < store.recipe.batches
    before = contents(store, n=40)
    assert sweep(file).returncode == 0
    after = contents(store, n=40)
    assert len(after) == store.recipe.batches
    assert before.items() <= after.items()
    result, expected = pk.load_ensemble(store.path), pk.ensemble(**killed.SETTINGS, workers=1)
    assert result["final"].values.tobytes() == expected["final"].values.tobytes()


def test_a_killed_worker_ends_the_sweep_and_costs_its_batch(file):
    process, store = begin(file, "--pool", "processes", "--workers", "2")
    os.kill(children(process.pid)[0], signal.SIGKILL)
    said = without_patience(process.communicate(timeout=LONG)[1])
    kept = contents(store)
    assert process.returncode == 2
    match = re.fullmatch(
        r"parkade: a worker process died \(killed, or out of memory\); (\d+) of (\d+) batches are "
        rf"kept in {re.escape(str(store.path))}: run it again to continue\n",
        said,
    )
    assert match is not None, said
    # The other worker may have finished one more batch before it stopped.
    assert len(kept) - 1 <= int(match[1]) <= len(kept) < int(match[2]) == store.recipe.batches
    # Workers do not outlive a killed main process.
    process, _ = begin(file, "--pool", "processes", "--workers", "2")
    workers = children(process.pid)
    assert len(workers) == 2
    process.kill()
    process.communicate()
    until(lambda: not any(Path(f"/proc/{worker}/cmdline").exists() for worker in workers))
    assert_finishes(file, store, contents(store))


@pytest.mark.parametrize("pool", ["threads", "processes"])
def test_ctrl_c_keeps_what_is_done(file, pool):
    process, store = begin(file, "--pool", pool, "--workers", "2", start_new_session=True)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers as well
    said = without_patience(process.communicate(timeout=LONG)[1])
    kept = contents(store)
    assert process.returncode == 130
    assert said == (
        f"parkade: interrupted; {len(kept)} of {store.recipe.batches} batches are kept in "
        f"{store.path}; run the same command again to continue\n"
    )
    status = json.loads(invoke("sweep", file, "--status", "--json").stdout)
    assert (status["batches_done"], status["batches"]) == (len(kept), store.recipe.batches)
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


DASK = """
import asyncio, os, signal, subprocess, sys, threading, time
import held
import parkade as pk
from distributed import Client, LocalCluster, Worker
from parkade.cli import app
from parkade.cli.sweep import read_recipe
from parkade.sweeps.runner import complete
from parkade.sweeps.store import Store
from pathlib import Path

async def work(address):
    async with Worker(address, nthreads=1, dashboard=False) as worker:
        await worker.finished()

# A fork has imported all it needs; the other worker does that on its own, as on another machine.
receiver, sender = os.pipe()
victim = os.fork()
if victim == 0:
    asyncio.run(work(os.read(receiver, 100).decode()))
    os._exit(1)

file = Path(sys.argv[1])
store = Store(file.with_suffix(""), read_recipe(file))
with LocalCluster(n_workers=0, dashboard_address=None, protocol="tcp") as cluster:
    os.write(sender, cluster.scheduler_address.encode())
    # Without a nanny, which would start another one for the victim.
    command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address]
    command += ["--no-nanny", "--no-dashboard", "--nthreads", "1"]
    survivor = subprocess.Popen(command, stderr=subprocess.DEVNULL)

    def strike():
        while not store.done():
            time.sleep(0.002)
        os.kill(victim, signal.SIGKILL)
        Path(os.environ["GO"]).touch()

    try:
        with Client(cluster) as client:
            client.wait_for_workers(2, timeout=300)
            client.run(exec, Path(held.__file__).read_text(), {})
            killer = threading.Thread(target=strike)
            killer.start()
            complete(store, client.get_executor())
            killer.join()
            os.waitpid(victim, 0)
            options = ["--scheduler", cluster.scheduler_address]
            app(["sweep", sys.argv[2], *options], prog_name="parkade", standalone_mode=False)
            options = dict(d=2, n=6, beta=[1, 9], runs=4, batch=2, t_end=1.0, times=[0, 0.5, 1])
            pk.ensemble(
                **options, measure=["final", "clusters"], executor=client.get_executor()
            ).to_netcdf(sys.argv[3])
            print("victim", victim, "pids", *client.run(os.getpid).values())
    finally:
        survivor.kill()
        survivor.wait()
"""


def test_dask_goes_on_without_a_killed_worker(file, tmp_path):
    pytest.importorskip("distributed")
    small = tmp_path / "small.toml"
    small.write_text(FILE.format(runs=4))
    script = tmp_path / "cluster.py"
    script.write_text(DASK)
    in_memory = tmp_path / "in_memory.nc"
    command = [sys.executable, str(script), str(file), str(small), str(in_memory)]
    settings = {"cwd": tmp_path, "env": held(tmp_path), "timeout": LONG}
    done = subprocess.run(command, capture_output=True, text=True, **settings)
    assert done.returncode == 0, done.stderr
    words = done.stdout.split()
    assert words[words.index("victim") + 1] not in words[words.index("pids") + 1 :]
    assert pk.load_ensemble(file.with_suffix("")).identical(undisturbed(RUNS))
    assert pk.load_ensemble(small.with_suffix("")).identical(undisturbed(4))
    with xarray.open_dataset(in_memory) as without_a_store:
        assert without_a_store.identical(undisturbed(4))
