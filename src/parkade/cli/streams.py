"""The standard streams, whatever the process was started with: closed, or a full disk."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any


def prepare() -> None:
    """Open what is closed, and name or forgive what fails."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # It takes the lowest free number, which is this one; else the next file would.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        stream: Any = getattr(sys, name)
        if stream is None:
            stream = open(number, "w" if number else "r", encoding="utf-8", closefd=False)  # noqa: SIM115
        if hasattr(stream, "reconfigure"):
            # A terminal that cannot show β or × gets a question mark, not a crash.
            stream.reconfigure(errors="replace")
        setattr(sys, name, (_Stream, _Output, _Errors)[number](stream))


class _Stream:
    """A stream like the one it is made of."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Output(_Stream):
    """Standard output, whose errors have its name. After one it is silent."""

    def write(self, text: str) -> int:
        """Write text."""
        if text == "":  # a probe of the command line's library, which would hide the error
            return 0
        with self._named():
            return int(self._stream.write(text))

    def flush(self) -> None:
        """Write what is buffered."""
        with self._named():
            self._stream.flush()

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            # What is still buffered would be written again, in vain, when the process ends.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
            error.filename = "standard output"
            raise


class _Errors(_Stream):
    """Standard error, of which nobody can be told that it fails: the work goes on."""

    def write(self, text: str) -> int:
        """Write text, if that is possible."""
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Write what is buffered, if that is possible."""
        with suppress(OSError):
            self._stream.flush()
