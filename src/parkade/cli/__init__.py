"""The `parkade` command: parse, call the library, print.

Imports all other folders, inside the functions that use them.

The Ctrl-C handler is installed before anything else is imported.
"""

from __future__ import annotations

from parkade.cli.interrupt import INTERRUPTED, leave_when_interrupted


def __getattr__(name: str) -> object:
    if name == "app":
        from parkade.cli.commands import app

        return app
    raise AttributeError(f"module 'parkade.cli' has no attribute {name!r}")


def main() -> None:
    """Run the command line of this process."""
    leave_when_interrupted()
    import errno
    import os
    import sys

    from parkade.base import garbage
    from parkade.cli import guard, streams

    garbage.look_less_often()
    streams.prepare()
    sys.unraisablehook = guard.unraisable
    from parkade.cli.commands import app

    try:
        try:
            app(prog_name="parkade")
        finally:
            sys.stdout.flush()  # here, not by the interpreter at exit
    except SystemExit as end:
        code = end.code
    except OSError as error:  # while printing the help, outside any command
        code = 1 if error.errno == errno.EPIPE else guard.FAILED
        if code == guard.FAILED:
            guard.print_error(guard.sentence(error))
    if code == INTERRUPTED:
        # After an interrupt that passed through exec(), CPython may kill itself with the
        # signal at exit, although it was handled.
        _release()
        os._exit(INTERRUPTED)
    sys.exit(code)


def _release() -> None:
    """Release the system resources of process pools, which os._exit does not."""
    import sys

    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        util._exit_function()
