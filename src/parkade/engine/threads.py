"""Sharing work out to the cores."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any


def cores() -> int:
    """How many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def share_out(calls: Iterable[tuple[Any, ...]], threads: int | None = None) -> None:
    """Make calls (function, *arguments) on several threads and wait for all of them.

    Threads of our own, and not parallel loops of Numba: these cannot be cached inside other
    cached functions, and not every one of their threading layers bears two runs at once.
    """
    count = cores() if threads is None else threads
    if count == 1:
        for function, *arguments in calls:
            function(*arguments)
        return
    pool = _pool(count)
    futures = [pool.submit(function, *arguments) for function, *arguments in calls]
    for future in futures:
        future.result()


@cache
def _pool(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, thread_name_prefix="parkade")


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Run matrix products on the calling thread.

    Our own threads already share out the tiles, and a product split over threads might
    round differently on another machine.
    """
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> Any:
    import scipy.linalg  # noqa: F401  the BLAS that compiled code calls: load it, then find it
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
