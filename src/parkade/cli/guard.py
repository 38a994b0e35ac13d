"""How a command fails: one sentence on standard error, and an exit code."""

from __future__ import annotations

import errno
import functools
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, ParamSpec

from parkade.base.errors import ParkadeError
from parkade.cli.interrupt import INTERRUPTED, leave

FAILED = 2

Arguments = ParamSpec("Arguments")


def guarded(command: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Turn the errors of `command` into a message and an exit code; a bug keeps its traceback."""

    @functools.wraps(command)
    def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        ours = signal.getsignal(signal.SIGINT) is leave
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            command(*args, **kwargs)
            # Detect a closed pipe here, where typer exits quietly, not in the interpreter
            # at exit.
            sys.stdout.flush()
        except ParkadeError as error:
            fail(str(error))
        except MemoryError as error:
            fail(f"not enough memory; {error}" if str(error) else "not enough memory")
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise
            fail(sentence(error))
        except KeyboardInterrupt as interrupt:
            fail(f"interrupted; {interrupt}" if str(interrupt) else "interrupted", INTERRUPTED)
        finally:
            if ours:
                signal.signal(signal.SIGINT, leave)

    return run


def unraisable(lost: Any) -> None:
    """Report exceptions that cannot be raised, except interrupts, which `_interrupt` repeats."""
    if not issubclass(lost.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(lost)


@contextmanager
def interruptible(consequence: str) -> Iterator[None]:
    """Make Ctrl-C end the block, with `consequence` in the message."""
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ours = ours and threading.current_thread() is threading.main_thread()
    if ours:
        signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(consequence) from None
    finally:
        if ours:
            _repeat_after(0)
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _interrupt(*_: object) -> None:
    """Raise KeyboardInterrupt repeatedly: one that is raised in a callback of LLVM is lost."""
    _repeat_after(0.5)
    raise KeyboardInterrupt


def _repeat_after(seconds: float) -> None:
    if hasattr(signal, "setitimer"):  # not on Windows
        signal.signal(signal.SIGALRM, _interrupt)
        signal.setitimer(signal.ITIMER_REAL, seconds)


def sentence(error: OSError) -> str:
    """The system's message, with the name of the file."""
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"


def print_error(sentence: str) -> None:
    """Print a message on standard error."""
    print(f"parkade: {sentence}", file=sys.stderr, flush=True)


def fail(sentence: str, code: int = FAILED) -> NoReturn:
    """Print a message and exit."""
    print_error(sentence)
    raise SystemExit(code) from None
