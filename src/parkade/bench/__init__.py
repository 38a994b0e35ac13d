"""How fast parkade is: ratios against plain NumPy, measured side by side in the same run.

A ratio depends less on the machine than a time.
Imports `solve`, `analysis` and below.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from parkade.base import check
from parkade.base.progress import bar
from parkade.bench.cases import CASES, Result

__all__ = ["CASES", "Result", "machine", "measure", "report"]


def measure(
    names: Sequence[str] = (), *, quick: bool = False, progress: bool = False
) -> list[Result]:
    """Measure cases.

    Parameters
    ----------
    names : sequence of str
        Keys of `CASES`; all of them by default.
    quick : bool
        Smaller systems and fewer repetitions: a check that it works, not a measurement.
    progress : bool
        Show a progress bar on standard error.
    """
    chosen = [check.choice("the case", name, tuple(CASES)) for name in names or CASES]
    results = []
    with bar("measuring", show=progress) as move:
        for done, name in enumerate(chosen, start=1):
            results.append(CASES[name](quick))
            move(done / len(chosen))
    return results


def report(results: Sequence[Result], *, quick: bool) -> dict[str, Any]:
    """The results and the machine, ready for JSON."""
    return {
        "machine": machine(),
        "quick": quick,
        "cases": [
            {**asdict(r), "ratio": r.ratio, "target_met": r.ratio >= r.target} for r in results
        ],
    }


def machine() -> dict[str, str | int]:
    """The machine and the versions with which the numbers were measured."""
    from importlib.metadata import version

    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": version("numba"),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(s.partition(":")[2].strip() for s in lines if s.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
