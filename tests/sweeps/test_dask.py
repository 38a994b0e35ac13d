"""A Dask cluster that fails: our sentence, and no output from Dask."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

# Not importorskip: each worker of pytest would import it, and only processes of tests need it.
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None, reason="needs parkade[cluster]"
)


def wait_for(path: Path) -> None:
    for _ in range(600):
        if path.exists() and path.read_text().strip():
            return
        time.sleep(0.1)
    raise AssertionError(f"{path} did not come")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text("d = 2\nn = 5\nruns = 4\nt_end = 1\n")
    return path


def sweep(file: Path, address: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "parkade", "sweep", str(file), "--scheduler", address]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_scheduler_that_dies_is_one_sentence(file, tmp_path):
    told = tmp_path / "scheduler.json"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0"]
    command += ["--no-dashboard", "--host", "127.0.0.1", "--scheduler-file", str(told)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **quiet) as scheduler:
        try:
            wait_for(told)
            # There are no workers, so the batches wait.
            running = sweep(file, json.loads(told.read_text())["address"])
            wait_for(tmp_path / "small" / "recipe.json")
            time.sleep(2)
        finally:
            scheduler.kill()
    out, said = running.communicate(timeout=120)
    assert (running.returncode, out) == (2, "")
    assert said == (
        f"parkade: the executor cancelled its batches; 0 of 4 batches are kept in "
        f"{tmp_path / 'small'}: run it again to continue\n"
    )


@pytest.mark.parametrize("address", ["nonsense://", "tls://127.0.0.1:1", "", "inproc://x"])
def test_an_invalid_address_is_one_sentence(file, address):
    running = sweep(file, address)
    out, said = running.communicate(timeout=120)
    assert (running.returncode, out) == (2, "")
    assert said.startswith(f"parkade: --scheduler: cannot reach {address} (")
    assert said.count("\n") == 1
    assert not file.with_suffix("").exists()
