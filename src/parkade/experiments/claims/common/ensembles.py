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
from parkade.experiments.experiment import Setup
from parkade.model import sphere
from parkade.sweeps.ensemble import ensemble

BETAS = (16.0, 32.0, 64.0)
N = 200
END = 1e60


# By runs and seed: two claims share them, and may ask at the same time.
_computed: dict[tuple[int, int], dict[float, Array]] = {}
_lock = threading.RLock()
forks.wait_for(_lock)


def simulated(setup: Setup) -> dict[float, Array]:
    """The times at which tokens reach an earlier one, (runs, n), for each β; infinite if never."""
    runs = setup.runs or setup.choose(6, 60)
    with _lock:
        if (runs, setup.seed) not in _computed:
            _computed[runs, setup.seed] = _simulate(runs, setup)
        return _computed[runs, setup.seed]


def _simulate(runs: int, setup: Setup) -> dict[float, Array]:
    store = f"lives-{runs}-runs-seed-{setup.seed}"
    data = ensemble(
        d=2, n=N, beta=BETAS, runs=runs, t_end=END, seed=setup.seed, times=[0.0, END],
        measure="merges", store=None if setup.folder is None else setup.folder / store,
        report=setup.report,
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


def starts(setup: Setup, count: int, stream: int) -> list[Array]:
    """Independent uniform starts on the circle."""
    rng = setup.generator(16, stream)
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
