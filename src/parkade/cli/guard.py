"""How a command ends when it cannot go on: one sentence on standard error, and an exit code."""

from __future__ import annotations

import errno
import functools
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec

import typer

from parkade.errors import ParkadeError

FAILED, INTERRUPTED = 2, 130

Arguments = ParamSpec("Arguments")


def guarded(command: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Turn the errors of `command` into a message and an exit code; a bug keeps its traceback."""

    @functools.wraps(command)
    def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        try:
            command(*args, **kwargs)
            # A reader that has gone away is noticed here, where typer ends quietly, and not
            # by the interpreter on its way out.
            sys.stdout.flush()
        except ParkadeError as error:
            fail(str(error))
        except MemoryError as error:
            fail(f"not enough memory; {error}" if str(error) else "not enough memory")
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise
            where = f"{error.filename}: " if error.filename else ""
            fail(f"{where}{error.strerror or error}")
        except KeyboardInterrupt as interrupt:
            fail(f"interrupted; {interrupt}" if str(interrupt) else "interrupted", INTERRUPTED)

    return run


@contextmanager
def interruptible(consequence: str) -> Iterator[None]:
    """Make Ctrl-C end the block, and say what it has left behind."""
    # Another handler than Python's own was chosen on purpose (nohup's, say): leave it.
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ours = ours and threading.current_thread() is threading.main_thread()
    if ours:
        signal.signal(signal.SIGINT, _insist)
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(consequence) from None
    finally:
        if ours:
            _repeat_after(0)
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _insist(*_: object) -> None:
    """Raise KeyboardInterrupt until it arrives: one that hits a callback of LLVM is lost."""
    _repeat_after(0.5)
    raise KeyboardInterrupt


def _repeat_after(seconds: float) -> None:
    if hasattr(signal, "setitimer"):  # not on Windows
        signal.signal(signal.SIGALRM, _insist)
        signal.setitimer(signal.ITIMER_REAL, seconds)


def fail(sentence: str, code: int = FAILED) -> None:
    """End the command."""
    print(f"parkade: {sentence}", file=sys.stderr, flush=True)
    raise typer.Exit(code) from None
