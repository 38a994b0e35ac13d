"""Sharing calls out to threads on all cores."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from parkade.base import forks


def cores() -> int:
    """The number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def share_out(calls: Iterable[tuple[Any, ...]], threads: int | None = None) -> None:
    """Make calls (function, *arguments) on several threads and wait for all of them.

    These are threads of Python, not parallel loops of Numba, which cannot be cached inside other
    cached functions, and whose threading layers do not all allow two runs at once.
    """
    count = cores() if threads is None else threads
    if count == 1:
        for function, *arguments in calls:
            function(*arguments)
        return
    left = deque(calls)

    def work() -> None:
        while True:
            try:
                function, *arguments = left.popleft()
            except IndexError:
                return
            function(*arguments)

    pool = _pool(count)
    helpers = [pool.submit(work) for _ in range(min(count, len(left)) - 1)]
    try:
        work()  # here as well: this thread need not be woken up
    finally:
        left.clear()
        for helper in helpers:
            if not helper.cancel():
                helper.result()


def pipeline(
    advance: Callable[[int, int], None], stages: int, blocks: int, threads: int | None = None
) -> None:
    """Call advance(stage, block) for all stages and blocks, on several threads.

    A call comes after that of the same stage for the block before, and after that of the stage
    before for the same block.
    """
    count = min(stages, cores() if threads is None else threads)
    done = [threading.Semaphore(0) for _ in range(stages)]

    def work(first: int) -> None:
        try:
            for stage in range(first, stages, count):
                for block in range(blocks):
                    if stage > 0:
                        done[stage - 1].acquire()
                    advance(stage, block)
                    done[stage].release()
        except BaseException:
            for semaphore in done:  # no thread may wait for a call that is never made
                semaphore.release(stages * blocks)
            raise

    # Not the shared pool: a thread that waits must not keep other work from running.
    with ThreadPoolExecutor(count, thread_name_prefix="parkade-stages") as pool:
        for future in [pool.submit(work, first) for first in range(count)]:
            future.result()


@cache
def _pool(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, thread_name_prefix="parkade")


forks.in_child(_pool.cache_clear)  # a child has the pools, but not their threads


class _SingleThreadedBlas:
    """While any thread is inside, matrix products run on the calling thread.

    Our own threads already share out the tiles, and a product split over threads might
    round differently on another machine. The setting belongs to the whole process, so the
    first thread to enter makes it and the last one to leave undoes it.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._inside: list[int] = []  # threads
        self._limit: Any = None
        forks.wait_for(self._lock)
        forks.in_child(self._stay_alone)

    def __enter__(self) -> None:
        with self._lock:
            self._inside.append(threading.get_ident())
            if len(self._inside) == 1:
                self._limit = _controller().limit(limits=1, user_api="blas")

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside.remove(threading.get_ident())
            if not self._inside:
                self._limit.restore_original_limits()

    def _stay_alone(self) -> None:
        """Forget the threads of the parent, which a child does not have."""
        mine = [thread for thread in self._inside if thread == threading.get_ident()]
        if self._inside and not mine:
            self._limit.restore_original_limits()
        self._inside = mine


_SINGLE = _SingleThreadedBlas()


def single_threaded_blas() -> AbstractContextManager[None]:
    """A context in which matrix products run on the calling thread."""
    return _SINGLE


@cache
def _controller() -> Any:
    import scipy.linalg  # noqa: F401  the BLAS that compiled code calls: load it, then find it
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
