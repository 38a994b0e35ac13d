"""Who is served when: work on a few threads, a line of those who wait, and a way out of it."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

from parkade.base.errors import ParkadeError
from parkade.base.progress import Report, tell
from parkade.engine.threads import cores

TICK = 0.1
"""Seconds between two looks at work under way."""

BEAT = 1.0
"""Seconds after which progress is told again, though there was none: a sign of life."""

_log = logging.getLogger("parkade.explorer")

Call = Callable[[Report, Callable[[], bool]], Any]
"""Work that reports the fraction done, and stops when the second argument is true."""


class BusyError(ParkadeError):
    """Too many wait already."""


class Progress(NamedTuple):
    """The fraction done."""

    fraction: float


class Note(NamedTuple):
    """Why it takes a while."""

    text: str


class Done(NamedTuple):
    """What came out."""

    result: Any


class Failed(NamedTuple):
    """What went wrong, as something to tell: `error` is no bug of ours."""

    error: ParkadeError


Event = Progress | Note | Done | Failed


class BugError(ParkadeError):
    """Something went wrong that nobody foresaw."""


class Task:
    """Work that was taken on."""

    def __init__(self, call: Call, pool: ThreadPoolExecutor) -> None:
        self._call = call
        self._cancelled = threading.Event()
        self._fraction = 0.0
        self._notes: list[str] = []
        self.future: Future[Any] = pool.submit(self._work)

    def cancel(self) -> None:
        """Stop, soon if it is under way, at once if it waits."""
        self._cancelled.set()
        self.future.cancel()

    async def events(self, gone: Awaitable[Any]) -> AsyncGenerator[Event]:
        """What happens to it, until it is done or nobody waits: `gone` comes true."""
        result = asyncio.wrap_future(self.future)
        leaving = asyncio.ensure_future(gone)
        told, said, beat, queued = -1.0, 0, 0.0, False
        try:
            while not result.done():
                # Those who wait are many, and looking at them takes time from those who work.
                tick = BEAT if queued and not self.future.running() else TICK
                await asyncio.wait(
                    {result, leaving}, timeout=tick, return_when=asyncio.FIRST_COMPLETED
                )
                if leaving.done():
                    return
                if result.done():
                    break
                if not (queued or self.future.running()):
                    queued = True
                    yield Note("waiting for other runs to end")
                for text in self._notes[said:]:
                    said += 1
                    yield Note(text)
                now = time.monotonic()
                if self._fraction != told or now - beat > BEAT:
                    told, beat = self._fraction, now
                    yield Progress(told)
            if result.cancelled():
                yield Failed(ParkadeError("the server is closing"))
                return
            error = result.exception()
            yield Done(result.result()) if error is None else Failed(_told(error))
        finally:
            leaving.cancel()
            self.cancel()
            # Nobody asks what became of it.
            result.add_done_callback(lambda f: f.cancelled() or f.exception())

    def _work(self) -> Any:
        """Do it, on a thread of the desk."""
        tell.set(self._notes.append)
        return self._call(self._report, self._cancelled.is_set)

    def _report(self, fraction: float) -> None:
        self._fraction = fraction


class Desk:
    """Takes on work.

    Parameters
    ----------
    places : int, optional
        Threads; as many as there are cores by default.
    chairs : int
        How many may wait.
    """

    def __init__(self, places: int | None = None, chairs: int = 64) -> None:
        self.places, self.chairs = places or cores(), chairs
        self._pool = ThreadPoolExecutor(self.places, thread_name_prefix="explorer")
        self._tasks: set[Task] = set()

    @property
    def inside(self) -> int:
        """How many are served or wait."""
        return len(self._tasks)

    def take(self, call: Call) -> Task:
        """Take on a call, or raise `BusyError`."""
        if self.inside >= self.places + self.chairs:
            raise BusyError(f"{self.inside} runs are under way or waiting; try again in a moment")
        task = Task(call, self._pool)
        self._tasks.add(task)
        task.future.add_done_callback(lambda _: self._tasks.discard(task))
        return task

    def close(self) -> None:
        """Cancel everything."""
        for task in list(self._tasks):
            task.cancel()
        self._pool.shutdown(wait=False, cancel_futures=True)


def _told(error: BaseException) -> ParkadeError:
    """The error, or a sentence in its place."""
    if isinstance(error, ParkadeError):
        return error
    if isinstance(error, MemoryError):
        return ParkadeError("there is not enough memory for this run; choose a smaller n or T")
    _log.error("a run failed", exc_info=error)
    return BugError(f"this is a bug in parkade ({type(error).__name__}: {error}); please report it")
