"""The `parkade` command: parse, call the library, print.

Nothing is imported here before Ctrl-C is seen to.
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

    from parkade.cli import guard, streams

    streams.prepare()
    sys.unraisablehook = guard.unraisable
    from parkade.cli.commands import app

    try:
        try:
            app(prog_name="parkade")
        finally:
            sys.stdout.flush()  # here, and not by the interpreter on its way out
    except SystemExit as end:
        code = end.code
    except OSError as error:  # of what no command printed, but its help
        code = 1 if error.errno == errno.EPIPE else guard.FAILED
        if code == guard.FAILED:
            guard.tell(guard.sentence(error))
    if code == INTERRUPTED:
        # CPython may remember an interrupt that passed through exec() and, at its exit,
        # kill itself with the signal although it was handled.
        _release()
        os._exit(INTERRUPTED)
    sys.exit(code)


def _release() -> None:
    """Give back what pools of processes hold in the system, which os._exit would not."""
    import sys

    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        util._exit_function()
