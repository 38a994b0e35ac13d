"""`parkade warmup`: compile all engines now instead of at their first use."""

from __future__ import annotations

import sys
import time

from parkade.cli.guard import guarded, interruptible

EXAMPLES = ("parkade warmup",)


@guarded
def warmup() -> None:
    """Compile or load all machine code, so that no later command waits for it."""
    with interruptible("functions compiled so far are kept"):
        from parkade.base.progress import bar
        from parkade.solve.warmup import warm_up_all

        begun = time.perf_counter()
        with bar("warming up", show=sys.stderr.isatty()) as report:
            done = warm_up_all(report)
        seconds = time.perf_counter() - begun
        print(f"{done.compiled} functions compiled, {done.loaded} loaded, in {seconds:.1f} s")
