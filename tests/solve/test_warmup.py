"""Engines compiled ahead, in another process."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from support.caches import copy_without

from parkade.solve import warmup
from parkade.solve.warmup import Kind

EXPLICIT = Kind("explicit", 3, "direct")


def test_another_process_fills_the_cache(tmp_path):
    # Code for all cores is many small functions: one of them is missing, and other engines.
    kind = Kind("explicit", 3, "direct", on_all_cores=True)
    missing = ("steps.explicit._estimate", "steps.explicit.advance", "steps.implicit.advance")
    variables = copy_without(tmp_path, *missing)
    subprocess.run(
        [sys.executable, "-m", "parkade.solve.warmup", json.dumps([kind])],
        env=os.environ | variables,
        check=True,
        capture_output=True,
    )
    there = {path.name.partition("-")[0] for path in tmp_path.rglob("*.nbc")}
    assert there.intersection(missing) == {"steps.explicit._estimate"}


@pytest.fixture
def started(monkeypatch):
    """The started processes and their engines."""
    real, seen = subprocess.Popen, []

    def popen(command, **options):
        kinds = [Kind(*fields) for fields in json.loads(command[3])]
        seen.append((kinds, real([sys.executable, "-c", "import time; time.sleep(600)"])))
        return seen[-1][1]

    monkeypatch.setattr(subprocess, "Popen", popen)
    monkeypatch.setattr(warmup, "_begun", set())
    monkeypatch.setattr(warmup, "cores", lambda: 2)
    return seen


def test_it_ends_with_the_block(started):
    def fail():
        with warmup.compiled_ahead(EXPLICIT, Kind("implicit", 8, "direct")):
            assert started[0][1].poll() is None
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert started[0][0] == [EXPLICIT, Kind("implicit", 8, "direct")]
    assert started[0][1].poll() not in (None, 0)  # it did not end by itself


def test_nothing_is_compiled_twice(started):
    with warmup.compiled_ahead(EXPLICIT), warmup.compiled_ahead(EXPLICIT):
        pass
    with warmup.compiled_ahead(EXPLICIT, Kind("implicit", 2, "harmonic")):
        pass
    assert [kinds for kinds, _ in started] == [[EXPLICIT], [Kind("implicit", 2, "harmonic")]]


def test_a_single_core_compiles_nothing_ahead(started, monkeypatch):
    monkeypatch.setattr(warmup, "cores", lambda: 1)
    with warmup.compiled_ahead(EXPLICIT):
        pass
    assert not started
