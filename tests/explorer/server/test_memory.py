"""The memory of a run goes back to the system when the run has ended, also if it failed."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from parkade.explorer.server.run_queue import RunQueue

MEGABYTE = 2**20


def resident():
    """Megabytes of this process that are in memory."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields["VmRSS"].split()[0]) / 1024


def large(report, cancelled):
    """Keeps 300 MB, and fails with all of it in the cycle of an error and its traceback."""
    arrays = [np.ones(MEGABYTE // 80) for _ in range(3000)]
    try:
        raise ValueError("too large")
    except ValueError as error:
        again = error
    return len(arrays) and again is None


def measure():
    """The memory before two large runs, most of all during them, and some time after."""
    queue = RunQueue(threads=2)
    before = most = resident()
    for _ in range(2):
        queue.submit(large).future.result()
        most = max(most, resident())
    for _ in range(1000):
        if resident() < before + 60:
            break
        time.sleep(0.1)
    after = resident()
    queue.close()
    return before, most, after


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_is_given_back():
    # In a process of its own: other tests leave memory behind that the system may have set aside.
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, timeout=300)
    before, most, after = json.loads(done.stdout)
    assert most > before + 250
    assert after < before + 60


if __name__ == "__main__":
    print(json.dumps(measure()))
