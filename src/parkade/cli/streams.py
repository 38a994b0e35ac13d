"""Make the standard streams safe: they may be closed, or on a full disk."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any


def prepare() -> None:
    """Reopen closed streams, name standard output in its errors, and ignore those of stderr."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # os.open takes the lowest free descriptor: this one, which the next file must not get.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        stream: Any = getattr(sys, name)
        if stream is None:
            stream = open(number, "w" if number else "r", encoding="utf-8", closefd=False)  # noqa: SIM115
        if hasattr(stream, "reconfigure"):
            # A terminal that cannot show β or × shows a question mark instead of crashing.
            stream.reconfigure(errors="replace")
        setattr(sys, name, (_Stream, _Output, _Errors)[number](stream))


class _Stream:
    """A wrapper around a stream."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Output(_Stream):
    """Standard output: its errors name it, and after one it discards what is written."""

    def write(self, text: str) -> int:
        """Write text to standard output."""
        if text == "":  # click probes the stream this way and would hide the error
            return 0
        with self._named():
            return int(self._stream.write(text))

    def flush(self) -> None:
        """Write the contents of the buffer."""
        with self._named():
            self._stream.flush()

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            # Otherwise the interpreter would try to write the buffer again at exit.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
            error.filename = "standard output"
            raise


class _Errors(_Stream):
    """Standard error: its errors are ignored, because they cannot be reported."""

    def write(self, text: str) -> int:
        """Write text if possible."""
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Write the contents of the buffer if possible."""
        with suppress(OSError):
            self._stream.flush()
