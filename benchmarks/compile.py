"""CPU seconds to the first result, with an empty cache of machine code and with a full one.

python benchmarks/compile.py                # this checkout
python benchmarks/compile.py OTHER/src      # and another one beside it, in turns
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

CASES = (("explicit", 2), ("implicit", 2), ("implicit", 3), ("implicit", 8))

SCRIPT = """
import parkade as pk
x = pk.sphere.uniform(50, {d}, seed=1)
pk.simulate(pk.Attention({d}, 9.0), x, 10.0, method={method!r}, times="final", sums="direct")
"""


def cpu_seconds(method: str, d: int, source: str, cache: str) -> float:
    """What a process needs from its start to the end of a small run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", SCRIPT.format(method=method, d=d)],
        env=os.environ | {"PYTHONPATH": source, "NUMBA_CACHE_DIR": cache},
        stderr=subprocess.DEVNULL,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print a row for each case and checkout."""
    sources = [str(Path(__file__).parents[1] / "src"), *sys.argv[1:]]
    print("| | d | empty cache | full cache |\n|---|---|---|---|")
    for method, d in CASES:
        for source in sources:
            with tempfile.TemporaryDirectory() as cache:
                first, second = (cpu_seconds(method, d, source, cache) for _ in range(2))
            where = "" if source == sources[0] else f" ({source})"
            print(f"| {method}{where} | {d} | {first:.1f} s | {second:.1f} s |", flush=True)


if __name__ == "__main__":
    main()
