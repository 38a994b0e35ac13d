"""Handle Ctrl-C from the start. This module imports almost nothing, so that it runs early."""

from __future__ import annotations

import os
import signal

INTERRUPTED = 130


def leave_when_interrupted() -> None:
    """Make Ctrl-C end the process at once, until a command takes over."""
    # A handler other than Python's default was chosen on purpose (nohup): keep it.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, leave)


def leave(*_: object) -> None:
    """Exit at once: nothing has started, and an import could swallow an exception."""
    try:
        os.write(2, b"parkade: interrupted\n")
    finally:
        os._exit(INTERRUPTED)
