"""Compile engines in another process, while this one computes.

Numba compiles one function at a time in a process, and an engine takes up to a minute. An
engine compiled by another process is in the cache when this one needs it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from parkade.model import sphere
from parkade.model.attention import Attention
from parkade.solve.options import Method
from parkade.solve.simulate import simulate

Engine = tuple[Method, int]
"""An integrator and a dimension; dimensions from 8 on share one engine."""

_begun: set[Engine] = set()


def compile_engine(engine: Engine) -> None:
    """Compile an engine unless it is in the cache."""
    method, d = engine
    x0 = sphere.uniform(4, d, seed=1)
    simulate(Attention(d), x0, 0.1, method=method, sums="harmonic" if d <= 3 else "direct")


@contextmanager
def compiled_ahead(*engines: Engine) -> Iterator[None]:
    """Compile engines, in this order, while the block runs."""
    from parkade.engine.threads import cores

    new = [engine for engine in engines if engine not in _begun]
    if not new or cores() == 1 or not sys.executable:
        yield
        return
    _begun.update(new)
    words = [f"{method} {d}" for method, d in new]
    process = subprocess.Popen(
        [sys.executable, "-m", "parkade.solve.warmup", *words],
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
    for word in sys.argv[1:]:
        name, dimension = word.split()
        compile_engine(("explicit" if name == "explicit" else "implicit", int(dimension)))
