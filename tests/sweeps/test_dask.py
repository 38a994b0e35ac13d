"""A Dask cluster that fails: our sentence, and no output from Dask."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

import pytest
from support.common import until

# Not importorskip: each worker of pytest would import it, and only processes of tests need it.
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None, reason="needs parkade[cluster]"
)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text("d = 2\nn = 5\nruns = 4\nt_end = 1\n")
    return path


# Says when it waits for batches.
SWEEP = """
import queue
from types import SimpleNamespace
from parkade.cli import main
from parkade.sweeps import workers

class Ended(queue.SimpleQueue):
    def get(self):
        print("waiting", flush=True)
        return super().get()

workers.queue = SimpleNamespace(SimpleQueue=Ended)
main()
"""


def test_a_scheduler_that_dies_is_one_sentence(file, tmp_path):
    contact = tmp_path / "scheduler.json"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0"]
    command += ["--no-dashboard", "--host", "127.0.0.1", "--scheduler-file", str(contact)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **quiet) as scheduler:
        try:
            until(lambda: contact.exists() and contact.read_text().strip())
            # There are no workers, so the batches wait.
            address = json.loads(contact.read_text())["address"]
            command = [sys.executable, "-c", SWEEP, "sweep", str(file), "--scheduler", address]
            pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
            running = subprocess.Popen(command, **pipes, text=True)
            assert running.stdout.readline() == "waiting\n"
        finally:
            scheduler.kill()
    out, said = running.communicate(timeout=300)
    assert (running.returncode, out) == (2, "")
    assert said == (
        f"parkade: the executor cancelled its batches; 0 of 4 batches are kept in "
        f"{tmp_path / 'small'}: run it again to continue\n"
    )


INVALID = ["nonsense://", "tls://127.0.0.1:1", "", "inproc://x"]

# Importing Dask is most of the work: one process tries one address after the other.
ONE_BY_ONE = """
import sys
from parkade.cli import main
file, *addresses = sys.argv[1:]
for address in addresses:
    sys.argv = ["parkade", "sweep", file, "--scheduler", address]
    try:
        main()
    except SystemExit as end:
        print(end.code, flush=True)
"""


def test_an_invalid_address_is_one_sentence(file):
    command = [sys.executable, "-c", ONE_BY_ONE, str(file), *INVALID]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.stdout.split() == ["2"] * len(INVALID)
    for address, said in zip(INVALID, done.stderr.splitlines(), strict=True):
        assert said.startswith(f"parkade: --scheduler: cannot reach {address} (")
    assert not file.with_suffix("").exists()
