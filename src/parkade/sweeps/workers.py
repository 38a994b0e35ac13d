"""Run the batches of an ensemble on threads, processes, or any executor."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import queue
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from parkade.base import check, garbage
from parkade.base.errors import InputError, ParkadeError, WorkerLostError
from parkade.model.model import Model

POOLS = ("threads", "processes")

_MOST = 1000  # the largest number of workers in parkade's own pools

Submit = Callable[..., "Future[Any]"]


def run_all(
    function: Callable[..., Any],
    tasks: Sequence[tuple[Any, ...]],
    workers: AbstractContextManager[Submit],
    finished: Callable[[Any], None],
) -> list[ParkadeError]:
    """Call `function` on the workers with each of the tasks; return the errors of failed ones.

    `finished` is called in this thread with each result. A failed simulation does not affect the
    others. Errors that affect all, such as a full disk, a dead worker or Ctrl-C, stop everything
    at once and are raised.
    """
    failed: list[ParkadeError] = []
    with workers as submit:
        unfinished: set[Future[Any]] = set()  # others are dropped, with their results
        # Not as_completed: it waits forever for futures that a closed pool cancels.
        ended: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        try:
            for task in tasks:
                future = _submit(submit, function, task)
                unfinished.add(future)
                future.add_done_callback(ended.put)
            for _ in tasks:
                future = ended.get()
                unfinished.discard(future)
                error = future.exception()
                if error is None:
                    finished(future.result())
                elif type(error) is ParkadeError:
                    failed.append(error)
                elif type(error).__name__ == "KilledWorker":  # from Dask, which is not imported
                    raise WorkerLostError(f"Dask gave up on a batch: {error}")
                else:
                    raise error
        except CancelledError:
            raise WorkerLostError("the executor cancelled its batches") from None
        except BrokenExecutor:
            raise WorkerLostError("a worker process died (killed, or out of memory)") from None
        finally:
            for future in unfinished:
                future.cancel()
    return failed


def _submit(submit: Submit, function: Callable[..., Any], task: tuple[Any, ...]) -> Future[Any]:
    """Submit one task; an executor that was closed meanwhile is a lost worker."""
    try:
        return submit(function, *task)
    except BrokenExecutor:
        raise
    except RuntimeError as error:
        raise WorkerLostError(f"the executor takes no more batches ({error})") from None


def pool_of(executor: Executor | str | None, workers: int | None) -> AbstractContextManager[Submit]:
    """A context manager for a function that submits calls; its workers stop at the end.

    Arguments are checked at once. Workers start when the context is entered.
    """
    if isinstance(executor, Executor):
        if workers is not None:
            raise InputError(
                "workers applies to 'threads' and 'processes' only, got an Executor; omit it"
            )
        return nullcontext(executor.submit)
    if executor is not None and not isinstance(executor, str):
        raise InputError(
            f"executor must be 'threads', 'processes' or a concurrent.futures.Executor, got "
            f"{type(executor).__name__}; for a Dask client pass client.get_executor()"
        )
    kind = check.choice("executor", "threads" if executor is None else executor, POOLS)
    if workers is None:
        from parkade.engine.compile.threads import cores

        workers = cores()
    count = check.positive_int("workers", workers)
    if count > _MOST:
        raise InputError(f"workers must be at most {_MOST}, got {count}")
    return _threads(count) if kind == "threads" else _processes(count)


@contextmanager
def _threads(count: int) -> Iterator[Submit]:
    cancelled = threading.Event()

    def submit(function: Callable[..., Any], *task: Any) -> Future[Any]:
        return pool.submit(function, *task, cancelled.is_set)

    with ThreadPoolExecutor(count, thread_name_prefix="parkade-ensemble") as pool:
        try:
            yield submit
        finally:
            cancelled.set()  # on an error, threads stop after their current chunk of steps
            pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def _processes(count: int) -> Iterator[Submit]:
    # Not fork: the child of a process with threads may inherit a lock that is never released.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(count, mp_context=context, initializer=_serve) as pool:
        try:
            yield pool.submit
        except BaseException:
            # Unfinished batches are not needed any more; written files stay.
            for process in list((getattr(pool, "_processes", None) or {}).values()):
                process.terminate()
            pool.shutdown(cancel_futures=True)
            raise


def _serve() -> None:
    """Set up a worker process: it ignores Ctrl-C, and exits when its parent does."""
    garbage.look_less_often()
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def follow() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def check_sendable(models: tuple[Model, ...]) -> None:
    """Raise an error if the models cannot be pickled."""
    try:
        pickle.dumps(models)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise InputError(
            f"the model cannot be sent to other processes ({check.reason(error)}); define its "
            "function or class in a module, or use executor='threads'"
        ) from None
