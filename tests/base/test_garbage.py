"""Processes that look for garbage less often."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import atexit, gc, weakref
from parkade.base import garbage

class Cycle:
    def __init__(self):
        self.itself = self

def searches():
    return sum(each["collections"] for each in gc.get_stats())

def count(made):
    before, first = searches(), weakref.ref(Cycle())
    for _ in range(made):
        Cycle()
    print(searches() > before, first() is None)

atexit.register(lambda: print(gc.get_freeze_count() > 0))  # runs after what is registered later
garbage.look_less_often()
count(10_000)
count(60_000)
"""


def test_garbage_is_found_later_and_at_exit_it_stays():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["False False", "True True", "True"]
