"""`RunQueue`: runs on a few threads, a limited number that wait, progress, and cancelling."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

from parkade.base.errors import ParkadeError
from parkade.base.progress import Report, tell
from parkade.engine.compile.threads import cores
from parkade.explorer.server.memory import Tidier

TICK = 0.1
"""Seconds between two looks at a task that runs."""

BEAT = 1.0
"""Seconds after which progress is reported again even if there is none, as a sign of life."""

_log = logging.getLogger("parkade.explorer")

Computation = Callable[[Report, Callable[[], bool]], Any]
"""A function that reports the fraction done, and stops when its second argument returns true."""


class BusyError(ParkadeError):
    """Too many tasks wait already."""


class BugError(ParkadeError):
    """A task failed by an error that is not meant for users."""


class Progress(NamedTuple):
    """The fraction of the task that is done."""

    fraction: float


class Note(NamedTuple):
    """A sentence that says why the task takes a while."""

    text: str


class Done(NamedTuple):
    """The result of the computation."""

    value: Any


class Failed(NamedTuple):
    """Why the computation failed, as an error with a message for users."""

    error: ParkadeError


Event = Progress | Note | Done | Failed


class Task:
    """A computation in the queue."""

    def __init__(self, computation: Computation, pool: ThreadPoolExecutor) -> None:
        self._computation = computation
        self._cancelled = threading.Event()
        self._fraction = 0.0
        self._notes: list[str] = []
        self.future: Future[Any] = pool.submit(self._compute)

    def cancel(self) -> None:
        """Stop: soon if it runs, at once if it waits."""
        self._cancelled.set()
        self.future.cancel()

    async def events(self, left: Awaitable[Any]) -> AsyncGenerator[Event]:
        """What happens to the task, until it ends or `left`, the client's leaving, completes."""
        future = asyncio.wrap_future(self.future)
        leaving = asyncio.ensure_future(left)
        reported, notes, beat, queued = -1.0, 0, 0.0, False
        try:
            while not future.done():
                # Many tasks may wait; looking at them often takes time from those that run.
                tick = BEAT if queued and not self.future.running() else TICK
                await asyncio.wait(
                    {future, leaving}, timeout=tick, return_when=asyncio.FIRST_COMPLETED
                )
                if leaving.done():
                    return
                if future.done():
                    break
                if not (queued or self.future.running()):
                    queued = True
                    yield Note("waiting for other runs to end")
                for text in self._notes[notes:]:
                    notes += 1
                    yield Note(text)
                now = time.monotonic()
                if self._fraction != reported or now - beat > BEAT:
                    reported, beat = self._fraction, now
                    yield Progress(reported)
            if future.cancelled():
                yield Failed(ParkadeError("the server is closing"))
                return
            error = future.exception()
            yield Done(future.result()) if error is None else Failed(_for_users(error))
        finally:
            leaving.cancel()
            self.cancel()
            # The outcome is looked up, so that asyncio does not warn that it was not.
            future.add_done_callback(lambda f: f.cancelled() or f.exception())

    def _compute(self) -> Any:
        """Run the computation, on a thread of the queue."""
        tell.set(self._notes.append)
        try:
            return self._computation(self._report, self._cancelled.is_set)
        except BaseException as error:
            _let_go(error)
            raise

    def _report(self, fraction: float) -> None:
        self._fraction = fraction


class RunQueue:
    """Runs computations on a few threads.

    Parameters
    ----------
    threads : int, optional
        As many as there are cores by default.
    waiting : int
        How many computations may wait for a thread.
    """

    def __init__(self, threads: int | None = None, waiting: int = 64) -> None:
        self.threads, self.waiting = threads or cores(), waiting
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="explorer")
        self._tasks: set[Task] = set()
        self._tidier = Tidier(lambda: not self._tasks)

    @property
    def count(self) -> int:
        """How many tasks run or wait."""
        return len(self._tasks)

    def submit(self, computation: Computation) -> Task:
        """Take a computation, or raise `BusyError`."""
        if self.count >= self.threads + self.waiting:
            raise BusyError(f"{self.count} runs are under way or waiting; try again in a moment")
        task = Task(computation, self._pool)
        self._tasks.add(task)
        task.future.add_done_callback(lambda _: self._ended(task))
        return task

    def _ended(self, task: Task) -> None:
        self._tasks.discard(task)
        self._tidier.soon()

    def close(self) -> None:
        """Cancel all tasks, and end the threads."""
        for task in list(self._tasks):
            task.cancel()
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._tidier.stop()


def _let_go(error: BaseException | None) -> None:
    """Clear the variables of the functions that an error went through.

    The future has the error, the error has these functions, and they have the future: this cycle
    would keep all steps of a run until Python looks for garbage.
    """
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__


def _for_users(error: BaseException) -> ParkadeError:
    """The error, or one with a message for users in its place."""
    if isinstance(error, ParkadeError):
        return error
    if isinstance(error, MemoryError):
        return ParkadeError("there is not enough memory for this run; choose a smaller n or T")
    _log.error("a run failed", exc_info=error)
    return BugError(f"this is a bug in parkade ({type(error).__name__}: {error}); please report it")
