"""Compile engines in another process, while this one computes.

Numba compiles one function at a time in a process, and an engine takes up to 20 seconds. What
another process compiles is in the cache when this one needs it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from parkade.base.types import MaskName
from parkade.engine.system import SMALL_D
from parkade.solve.kinds import Kind, warm_up

_HARMONIC = (2, 3)  # dimensions with harmonic sums

_begun: set[Kind] = set()


def kinds() -> list[Kind]:
    """Every engine there is, the slowest to compile first."""
    dimensions = range(2, SMALL_D + 1)
    either: list[MaskName] = ["causal", "full"]
    both = (False, True)
    return [
        Kind("implicit", SMALL_D, "direct", parts=True),
        *(Kind("implicit", d, "harmonic", on_all_cores=True) for d in _HARMONIC),
        *(Kind("implicit", d, "harmonic", any_query=some) for d in _HARMONIC for some in both),
        *(Kind("implicit", d, "direct", mask) for d in dimensions for mask in either),
        *(Kind("explicit", d, "harmonic", on_all_cores=True) for d in _HARMONIC),
        *(Kind("explicit", d, "harmonic", any_query=some) for d in _HARMONIC for some in both),
        *(Kind("explicit", SMALL_D, "direct", on_all_cores=some, parts=True) for some in both),
        *(Kind("splitting", SMALL_D, "direct", on_all_cores=some, parts=True) for some in both),
        *(Kind("explicit", d, "direct", on_all_cores=True) for d in dimensions),
        *(Kind("explicit", d, "direct") for d in dimensions),
    ]


@contextmanager
def compiled_ahead(*kinds: Kind) -> Iterator[None]:
    """Compile engines, in this order, while the block runs."""
    from parkade.engine.compile.threads import cores

    new = [kind for kind in kinds if kind not in _begun]
    if not new or cores() == 1 or not sys.executable:
        yield
        return
    _begun.update(new)
    process = subprocess.Popen(
        [sys.executable, "-m", "parkade.solve.warmup", json.dumps(new)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    for fields in json.loads(sys.argv[1]):
        warm_up(Kind(*fields))
