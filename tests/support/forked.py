"""The command in a fork of the test process, which has imported what takes most of its time.

Its streams are files, pipes or closed, as those of a process that a shell starts.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings

STREAMS = ("stdin", "stdout", "stderr")
CLOSED = "closed"


def in_fork(arguments, **streams):
    """Run it with streams `CLOSED`, at a descriptor or at a path; return what goes elsewhere."""
    arguments = arguments.split() if isinstance(arguments, str) else list(map(str, arguments))
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        places = {"stdout": out.fileno(), "stderr": err.fileno(), **streams}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the child uses no thread of this process
            child = os.fork()
        if child == 0:
            try:
                _redirect(places)
                os._exit(_run(arguments))
            finally:
                os._exit(99)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        said = [file.read().decode() for file in (out, err)]
        return subprocess.CompletedProcess(arguments, code, *said)


def _redirect(places):
    """Set descriptors as a shell does, and then streams as Python does when it starts."""
    for number, name in enumerate(STREAMS):
        at, stream = places.get(name, number), None
        if at == CLOSED:
            os.close(number)
        else:
            os.dup2(at if isinstance(at, int) else os.open(at, os.O_WRONLY), number)
            mode, buffering = ("w" if number else "r"), (1 if number == 2 else -1)
            stream = open(number, mode, buffering, encoding="utf-8", closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _run(arguments):
    """The code with which a process would end."""
    from parkade.cli import main

    warnings.resetwarnings()
    sys.argv = ["parkade", *arguments]
    code = 0
    try:
        main()
    except SystemExit as end:
        code = end.code or 0
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            code = 120
    return code
