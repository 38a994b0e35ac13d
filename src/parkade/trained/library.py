"""A tokenizer of the library `tokenizers`, in a process of its own.

The library panics, aborts, takes all memory or never ends on some files and texts. There it can do
so without harm: the process has bounds, and its end is an error with a sentence.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from parkade.base import check, forks
from parkade.base.errors import InputError

_SCRIPT = Path(__file__).with_name("library_process.py")
_MEMORY = 2**31  # bytes
_SECONDS = 30  # of CPU time for each request
_LONGEST = 2**28  # bytes of an answer

_LOCK = threading.RLock()
forks.wait_for(_LOCK)


class LibraryTokenizer:
    """A tokenizer of the library `tokenizers`.

    Parameters
    ----------
    kind : "file", "words" or "pieces"
        What it is made of: a whole tokenizer.json, a list of words, or pieces and merges.
    argument : mapping
        The arguments of that kind, see `library_process.make`.
    begin : tuple of int
        The ids that begin every text.
    """

    def __init__(self, kind: str, argument: Mapping[str, Any], begin: tuple[int, ...] = ()) -> None:
        if importlib.util.find_spec("tokenizers") is None:
            raise InputError(
                "this tokenizer needs the library tokenizers: pip install 'parkade[trained]'; or "
                "pass ids instead of text"
            )
        self._made_of = kind, argument
        self._begin = begin
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        with _LOCK:
            self._start()

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""
        return [*self._begin, *self._ask("encode", text)]

    def decode(self, ids: list[int]) -> str:
        """The text of ids."""
        return str(self._ask("decode", ids))

    def word(self, number: int) -> str:
        """The text of one id."""
        return str(self._ask("word", number))

    def _ask(self, kind: str, argument: Any) -> Any:
        """The answer of the process, which is started again if there is none."""
        with _LOCK:
            try:
                if self._process is None or self._owner != os.getpid():
                    self._start()
                return self._exchange(kind, argument)
            except ValueError as error:
                raise InputError(
                    f"the tokenizer of this model cannot {kind} {check.brief(argument)}: "
                    f"{check.reason(error)}; pass ids instead of text, or another text"
                ) from None

    def _start(self) -> None:
        """Start the process; raise ValueError if the tokenizer cannot be made."""
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(_SCRIPT), str(_MEMORY), str(_SECONDS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "TOKENIZERS_PARALLELISM": "false"},
            start_new_session=True,  # Ctrl-C is for us
        )
        self._owner = os.getpid()
        weakref.finalize(self, _end, self._process)
        self._exchange(*self._made_of)

    def _exchange(self, kind: str, argument: Any) -> Any:
        """Ask, and wait for the answer; raise ValueError if the process ends instead."""
        process, self._process = self._process, None  # until it has answered
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        answered = False
        try:
            with suppress(BrokenPipeError):  # it has ended: the answer says why, if there is one
                process.stdin.write(json.dumps([kind, argument]).encode() + b"\n")
                process.stdin.flush()
            line = process.stdout.readline(_LONGEST)
            answer = json.loads(line) if line.endswith(b"\n") else {}
            answered = "answer" in answer
        finally:
            if not answered:
                _end(process)
        if not answered:
            raise ValueError(answer.get("error") or _why(process.returncode))
        self._process = process
        return answer["answer"]


def _why(code: int) -> str:
    """Why a process ended without a word."""
    if code == -getattr(signal, "SIGXCPU", 0):
        return f"it takes more than {_SECONDS} seconds"
    return "the library crashed, needs too much memory, or gave too long an answer"


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process, if it still runs; one that was started before a fork is not ours."""
    if process.poll() is None:
        process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):
            if pipe is not None:
                pipe.close()
