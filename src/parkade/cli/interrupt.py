"""Ctrl-C from the first moment on. This imports next to nothing, so that the moment is early."""

from __future__ import annotations

import os
import signal

INTERRUPTED = 130


def leave_when_interrupted() -> None:
    """Make Ctrl-C end the process at once, until a command takes over."""
    # Another handler than Python's own was chosen on purpose (nohup's, say): leave it.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, leave)


def leave(*_: object) -> None:
    """End: nothing is begun yet, and an exception could get lost or changed in an import."""
    try:
        os.write(2, b"parkade: interrupted\n")
    finally:
        os._exit(INTERRUPTED)
