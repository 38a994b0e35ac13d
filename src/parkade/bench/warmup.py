"""Compile or load all machine code there is, on all cores."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np

from parkade.analysis import clusters
from parkade.base.progress import Report
from parkade.model import sphere
from parkade.model.attention import Attention
from parkade.runs.interpolation import interpolate
from parkade.solve.kinds import Kind, warm_up
from parkade.solve.simulate import simulate
from parkade.solve.warmup import kinds
from parkade.theory import parking


class Warmed(NamedTuple):
    """How many functions were compiled, and how many loaded from files."""

    compiled: int
    loaded: int


def warm_up_all(report: Report) -> Warmed:
    """Compile or load every engine, and what runs need besides."""
    from parkade.engine.compile.threads import cores

    tasks = [*kinds(), None]
    total = np.zeros(2, dtype=int)
    with ProcessPoolExecutor(cores(), mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(warm_up_one, kind) for kind in tasks]
        for done, future in enumerate(as_completed(futures), 1):
            total += future.result()
            report(done / len(tasks))
    return Warmed(*total.tolist())


def warm_up_one(kind: Kind | None) -> Warmed:
    """Compile or load one engine; with None, what runs need besides."""
    from parkade.engine.compile.jit import COUNTS

    before = Warmed(COUNTS["compiled"], COUNTS["loaded"])
    if kind is None:
        _use_the_rest()
    else:
        warm_up(kind)
    return Warmed(COUNTS["compiled"] - before.compiled, COUNTS["loaded"] - before.loaded)


def _use_the_rest() -> None:
    """Dense output, clusters, parking, forecasts and energies, each once."""
    from parkade.theory.energy import sequential_energies
    from parkade.theory.forecast import forecast

    x0 = sphere.uniform(20, 2, seed=1)
    for method in ("explicit", "implicit"):
        run = simulate(Attention(2, 9.0), x0, 20.0, method=method)
        run.at([0.5, 1.0])
        run.merge_tree()
    for x in (run.final, sphere.uniform(20, 3, seed=1)):  # on the circle, and elsewhere
        clusters.cluster_labels(x, 0.1)
    dense = np.empty((0, *x0.shape))
    interpolate("splitting", 0.5, (0.0, 1.0), (x0, x0), dense, np.empty_like(x0))
    clusters.consumption(run, [0, 1], 0.1, times=[0.0, 20.0])
    for radius in (0.01, 1.0):  # in cells, and one by one
        parking.renyi_centers(x0, radius)
        parking.strong_renyi_centers(x0, radius, model=Attention(Q=[1.0, 2.0]))
    for pull in ("net", "nearest"):
        forecast(x0, 9.0, pull=pull)
    sequential_energies(x0, 2.0)
