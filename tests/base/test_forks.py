"""Forks, spawned processes, threads and nested pools: nothing hangs, and the bits agree."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.processes import SCENARIOS

SCRIPT = Path(__file__).parents[1] / "support" / "processes.py"
SECONDS = 240


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_company():
    """One scenario after the other in one process: whatever one leaves behind, the next has."""
    threads_of_blas = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
    process = subprocess.Popen(
        [sys.executable, SCRIPT],
        env=threads_of_blas,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, complaints = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # and its children, which hang as well
        output, complaints = process.communicate()
        pytest.fail(f"hangs after {output.splitlines()}: {complaints}")
    assert process.returncode == 0, complaints
    results = output.splitlines()
    for scenario in SCENARIOS:
        matches = [line for line in results if line.startswith(f"{scenario}: ")]
        assert len(matches) >= 3
        assert len(set(matches)) == 1, matches
