"""Whole lives of clusters on the circle, simulated and forecast: what our own claims rest on.

Simulated lives are an ensemble of `measure="merges"` to t = 10⁶⁰. With a folder it is stored there
and can be continued. Forecasts are of other, independent starts.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from parkade import theory
from parkade.base import forks
from parkade.base.errors import doubts_do_not_matter
from parkade.base.types import Array
from parkade.engine.compile.threads import cores
from parkade.experiments.experiment import Effort
from parkade.model import sphere
from parkade.sweeps.ensemble import ensemble

BETAS = (16.0, 32.0, 64.0)
N = 200
END = 1e60


# By runs and seed: two claims share them, and may ask at the same time.
_kept: dict[tuple[int, int], dict[float, Array]] = {}
_lock = threading.RLock()
forks.wait_for(_lock)


def simulated(effort: Effort) -> dict[float, Array]:
    """When tokens arrive at an earlier one, (runs, n), for each β; infinite if never."""
    runs = effort.runs or effort.choose(6, 60)
    with _lock:
        if (runs, effort.seed) not in _kept:
            _kept[runs, effort.seed] = _simulate(runs, effort)
        return _kept[runs, effort.seed]


def _simulate(runs: int, effort: Effort) -> dict[float, Array]:
    store = f"lives-{runs}-runs-seed-{effort.seed}"
    data = ensemble(
        d=2, n=N, beta=BETAS, runs=runs, t_end=END, seed=effort.seed, times=[0.0, END],
        measure="merges", store=None if effort.folder is None else effort.folder / store,
        report=effort.report,
    )  # fmt: skip
    arrival = data["arrival"].transpose("beta", "run", "token")
    return {beta: arrival.sel(beta=beta).values for beta in BETAS}


def forecast(beta: float, starts: Sequence[Array]) -> Array:
    """The same by forecasts, (starts, n)."""
    with ThreadPoolExecutor(cores()) as pool:
        return np.array(list(pool.map(partial(_forecast_arrivals, beta=beta), starts)))


def _forecast_arrivals(start: Array, beta: float) -> Array:
    with doubts_do_not_matter():  # they are few, and part of the comparison
        return theory.forecast(start, beta).arrivals


def starts(effort: Effort, count: int, stream: int) -> list[Array]:
    """Independent uniform starts on the circle."""
    rng = effort.generator(16, stream)
    return [sphere.uniform(N, 2, rng) for _ in range(count)]


def counts(arrivals: Array, beta: float, scaled: Array) -> Array:
    """Numbers of clusters at t = e^{vβ} for each v, (runs, times)."""
    late = np.log(np.maximum(arrivals, 1e-300))
    result: Array = (late[:, :, None] > beta * scaled).sum(axis=1)
    return result


def last(arrivals: Array) -> Array:
    """The time of the last merge of each run; infinite if there is more than one cluster left."""
    result: Array = np.sort(arrivals, axis=1)[:, -2]  # the first token never arrives
    return result
