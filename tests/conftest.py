"""Fixtures shared by the tests. All random numbers come from fixed seeds."""

from __future__ import annotations

import gc
import hashlib
import os
import secrets
import signal
from pathlib import Path

import hypothesis
import pytest

PAGE = Path(__file__).parent / "explorer" / "page"

# The seed of the order of tests. Workers inherit it, so that all of them have the same order.
ORDER = os.environ.setdefault("PARKADE_ORDER", str(secrets.randbelow(10**6)))

# There are more workers than cores, and threads of BLAS wait in busy loops: up to a third of the
# CPU. It counts if it is set before NumPy is imported, and for processes that tests start.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

hypothesis.settings.register_profile(
    "fixed",
    max_examples=100 if "PARKADE_FUZZ" in os.environ else 50,
    derandomize=True,
    deadline=None,
    database=None,
    print_blob=False,
)
hypothesis.settings.load_profile("fixed")

if "PARKADE_FUZZ" not in os.environ:
    # Or else it reads all sources of parkade in each worker, a second or more, for constants to
    # draw: which ones depends on the modules that other tests of the worker have imported.
    from hypothesis.internal.conjecture import providers

    if hasattr(providers, "_get_local_constants") and hasattr(providers, "_local_constants"):
        providers._get_local_constants = lambda: providers._local_constants


gc.disable()  # until all tests are collected: that makes millions of objects, and no garbage


def pytest_collection_finish():
    """Look for garbage again: not among what stays, and not often."""
    from parkade.base import garbage

    gc.freeze()
    garbage.look_less_often()
    gc.enable()


def pytest_report_header():
    """How to have this order again."""
    return f"order: PARKADE_ORDER={ORDER}"


@pytest.hookimpl(tryfirst=True)  # pytest then puts tests together that share a parametrised fixture
def pytest_collection_modifyitems(items):
    """Shuffle files, and tests within files. A file alone has the order that it has among others.

    Tests of the explorer's page are first: one worker waits for its browser while others compute.
    At the end, all workers would start a browser, and wait for it.
    """

    def place(name):
        return hashlib.sha256(f"{ORDER} {name}".encode()).digest()

    items.sort(
        key=lambda item: (
            PAGE not in item.path.parents,
            place(item.nodeid.partition("::")[0]),
            place(item.nodeid),
        )
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """One worker more than cores: some tests wait for a browser or a killed process."""
    from parkade.engine.compile.threads import cores

    return cores() + 1


def pytest_configure():
    """Let Ctrl-C interrupt tests and their processes even where it is ignored.

    Shells ignore it in background jobs.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def plain_pictures():
    """Saved pictures have few dots, and fonts as they are: half of the time."""
    from parkade.plots import style

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(style, "_PNG_DPI", 50)
        patch.setitem(style.RC, "pdf.fonttype", 3)
        yield


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty directory that is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def little_memory(monkeypatch):
    """A machine with 10 kB of free memory."""
    monkeypatch.setattr("parkade.base.check.available_memory", lambda: 1e4)
    monkeypatch.setattr("parkade.base.check.ASKED_FROM", 0)
