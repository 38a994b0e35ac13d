"""The command with closed, full or broken streams, and with Ctrl-C at any moment."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import time

import pytest
from support.common import without_patience
from support.forked import CLOSED, in_fork

import parkade as pk

SMALL = "simulate --n 5 --t-end 1 --d 2"


@pytest.fixture(scope="module")
def imported():
    """What forks of this process need not import, each of them."""
    pages = ("explorer.standalone.export", "explorer.scenes.build")
    names = ("plots.overview", *pages, "experiments.verify")
    for name in names:
        importlib.import_module(f"parkade.{name}")


@pytest.fixture
def here(here):
    (here / "small.toml").write_text("d = 2\nn = 5\nruns = 2\nt_end = 1\n")
    pk.simulate(pk.Attention(d=2), pk.sphere.uniform(5, 2, seed=0), 1.0).save("kept.npz")
    return here


def shell(arguments: str, redirections: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command with its streams redirected by a shell, as a user does."""
    line = f'exec "{sys.executable}" -m parkade {arguments} {redirections}'
    return subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=120)


WORK = {
    f"{SMALL} -o made.npz": "made.npz",
    f"{SMALL} --json --plot made.png --progress": "made.png",
    "timeline kept.npz": "kept.npz",
    "export kept.npz -o made.html": "made.html",
    "sweep small.toml --pool processes --workers 1": "small/batch-000001.nc",
    "verify --list": "kept.npz",
    "--help": "kept.npz",
    "--version": "kept.npz",
}


# Whole processes for each way; then forks, since what commands open and print is what differs.
ALL_CLOSED = "<&- >&- 2>&-"
FIRST = next(iter(WORK))
WHOLE = [
    (FIRST, "2>/dev/full"),
    *((work, ALL_CLOSED) for work in WORK if work.startswith((FIRST, "sweep", "-"))),
    *(("--help", way) for way in ("2>&-", ">&-")),
]


@pytest.mark.parametrize(("arguments", "closed"), WHOLE)
def test_commands_work_with_closed_streams(here, arguments, closed):
    done = shell(arguments, closed)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert (here / WORK[arguments]).stat().st_size > 100


@pytest.mark.parametrize("arguments", [work for work in WORK if (work, ALL_CLOSED) not in WHOLE])
def test_other_commands_work_with_closed_streams(here, imported, arguments):
    assert in_fork(arguments, stdin=CLOSED, stdout=CLOSED, stderr=CLOSED).returncode == 0
    assert (here / WORK[arguments]).stat().st_size > 100


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_one_closed_stream_stops_no_work(here, stream):
    assert in_fork(FIRST, **{stream: CLOSED}).returncode == 0
    assert (here / WORK[FIRST]).stat().st_size > 100


@pytest.mark.parametrize("arguments", [*WORK][1::2])
def test_a_full_disk_behind_standard_output_is_an_error(here, imported, arguments):
    whole = arguments == "--version"
    done = shell(arguments, ">/dev/full") if whole else in_fork(arguments, stdout="/dev/full")
    assert done.returncode == 2
    said = without_patience(done.stderr).strip()  # rich leaves an empty line
    assert said == "parkade: standard output: No space left on device"
    assert (here / WORK[arguments]).stat().st_size > 100


def test_two_full_disks_are_one_error(here):
    assert shell("--help", ">/dev/full 2>/dev/full").returncode == 2


@pytest.mark.parametrize("closed", ["2>&-", ">&- 2>&-", "2>/dev/full"])
@pytest.mark.parametrize("arguments", ["simulate --nothing", "nothing"])
def test_errors_keep_their_code_with_closed_streams(here, arguments, closed):
    assert shell(arguments, closed).returncode == 2


@pytest.mark.parametrize("stdout", [CLOSED, "/dev/null"])
@pytest.mark.parametrize("stderr", [CLOSED, "/dev/full"])
def test_errors_in_values_keep_their_code_with_closed_streams(stdout, stderr):
    assert in_fork("simulate --beta nan", stdout=stdout, stderr=stderr).returncode == 2


def test_a_closed_pipe_stops_no_work(here):
    for stream, code in (("stdout", 1), ("stderr", 0)):
        reading, writing = os.pipe()
        os.close(reading)
        done = in_fork(f"{SMALL} --progress -o made.npz", **{stream: writing})
        os.close(writing)
        assert (done.returncode, without_patience(done.stderr).strip()) == (code, "")
        pk.load("made.npz")
        os.unlink("made.npz")


def test_a_library_without_standard_error_prints_nothing_elsewhere():
    code = (
        "import sys; sys.stderr = None\n"
        "from parkade.base.progress import compiling, say_compiling\n"
        "with compiling('patience'): say_compiling()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


LONG = "--n", "4000", "--d", "3", "--beta", "16", "--t-end", "1e200"
"""A run that takes much longer than all delays."""


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.07, 0.15, 0.3, 0.8])
def test_ctrl_c_is_one_line_from_our_first_line_on(here, delay):
    # Before parkade.cli runs, the interrupt hits Python itself. parkade.base.errors is our
    # first import after that.
    command = [sys.executable, "-X", "importtime", "-m", "parkade", "timeline", *LONG]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        while not (line := running.stderr.readline()).endswith(" parkade.base.errors\n"):
            assert line, "parkade.base.errors was never imported"
        time.sleep(delay)
        running.send_signal(signal.SIGINT)
        rest = running.stderr.read()
    said = [s for s in without_patience(rest).splitlines() if not s.startswith("import time:")]
    assert running.returncode == 130, rest
    assert said in (["parkade: interrupted"], ["parkade: interrupted; nothing was written"])
