"""Fixtures shared by the tests. All random numbers come from fixed seeds."""

from __future__ import annotations

import gc
import signal

import hypothesis
import pytest

from parkade.base import garbage
from parkade.engine.threads import cores

hypothesis.settings.register_profile(
    "fixed", derandomize=True, deadline=None, database=None, print_blob=False
)
hypothesis.settings.load_profile("fixed")


gc.disable()  # until all tests are collected: that makes millions of objects, and no garbage


def pytest_collection_finish():
    """Look for garbage again: not among what stays, and not often."""
    gc.freeze()
    garbage.look_less_often()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """One worker more than cores: some tests wait for a browser or a killed process."""
    return cores() + 1


def pytest_configure():
    """Let Ctrl-C interrupt tests and their processes even where it is ignored.

    Shells ignore it in background jobs.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def little_memory(monkeypatch):
    """A machine with 10 kB of free memory."""
    monkeypatch.setattr("parkade.base.check.available_memory", lambda: 1e4)
    monkeypatch.setattr("parkade.base.check.ASKED_FROM", 0)
