"""What checksums cost when an ensemble is read, as a share of the time to read it.

    python benchmarks/store.py           prints a table in Markdown

Stores of three kinds are read with and without computing checksums, in turns. Files lie in the
page cache of the system, or are dropped from it first, where the system allows that.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest import mock

import parkade as pk
from parkade.sweeps import netcdf

ROUNDS = 30

KINDS: dict[str, dict[str, Any]] = {
    "clusters": {"measure": "clusters", "n": 50, "runs": 2000, "times": [1.0, 10.0]},
    "final": {"measure": "final", "n": 2000, "runs": 1000},
    "trajectory": {"measure": "trajectory", "n": 500, "runs": 400, "times": range(1, 101)},
}


def seconds(store: Path, *, from_disk: bool) -> float:
    """How long it takes to read a store."""
    if from_disk:
        for file in store.iterdir():
            with file.open("rb") as opened:
                os.fsync(opened.fileno())
                os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    begun = time.perf_counter()
    pk.load_ensemble(store)
    return time.perf_counter() - begun


def main() -> None:
    """Print a row for each kind of store and place."""
    print("| store | MB | from | read, ms | checksums |\n|---|---:|---|---:|---:|")
    for name, options in KINDS.items():
        with tempfile.TemporaryDirectory() as folder:
            store = Path(folder)
            pk.ensemble(d=2, beta=1.0, t_end=100.0, store=store, **options)
            size = sum(file.stat().st_size for file in store.iterdir()) / 1e6
            for place in ("memory", "disk"):
                checked, plain = [], []
                for _ in range(ROUNDS):
                    checked.append(seconds(store, from_disk=place == "disk"))
                    with mock.patch.object(netcdf, "load", Path.read_bytes):
                        plain.append(seconds(store, from_disk=place == "disk"))
                extra = statistics.median(a / b for a, b in zip(checked, plain, strict=True)) - 1
                took = 1e3 * statistics.median(checked)
                print(f"| {name} | {size:.0f} | {place} | {took:.0f} | {extra:+.1%} |", flush=True)


if __name__ == "__main__":
    main()
