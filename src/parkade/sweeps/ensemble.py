"""`ensemble`: thousands of independent runs over a grid of parameters, in a safe store."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from parkade.base import check
from parkade.base.errors import InputError, TrustWarning
from parkade.base.progress import Report
from parkade.model.model import Model
from parkade.solve.options import SumsOption
from parkade.sweeps import request
from parkade.sweeps.results import Results, check_memory
from parkade.sweeps.runner import run_in_memory, run_in_store
from parkade.sweeps.store import Store
from parkade.sweeps.versions import mixture

if TYPE_CHECKING:
    import xarray

__all__ = ["ensemble", "load_ensemble"]


def ensemble(
    model: Model | Sequence[Model] | Mapping[str, Model] | None = None,
    *,
    n: Any = None,
    runs: int = 5000,
    t_end: float = 150.0,
    seed: int = 0,
    times: Any = None,
    measure: Any = ("clusters",),
    beta: Any = None,
    d: Any = None,
    V: Any = None,
    Q: Any = None,
    K: Any = None,
    mask: Any = None,
    norm: Any = None,
    heads: Any = None,
    d_head: Any = None,
    mlp: Any = None,
    noise: Any = None,
    c: Any = None,
    delta: Any = None,
    radius: float | None = None,
    cluster_radius: Any = None,
    start: Any = None,
    tol: float | None = None,
    sums: SumsOption = "auto",
    batch: int | None = None,
    store: str | os.PathLike[str] | None = None,
    executor: Executor | Literal["threads", "processes"] | None = None,
    workers: int | None = None,
    progress: bool = False,
    report: Report | None = None,
) -> xarray.Dataset:
    """Simulate many independent runs at every point of a grid, and measure them.

    Each of `beta`, `n`, `d`, `V`, `Q`, `K`, `mask`, `norm`, `heads`, `d_head`, `mlp`, `noise`,
    `start`, `c` or `delta`, and `cluster_radius` is one value or a list of values. A list becomes
    a dimension of the result; all combinations are run.

    Parameters
    ----------
    model : Model, optional
        The model. Other arguments replace the parameters of an `Attention`. Several models of
        other kinds, in a list or in a dictionary that names them, are an axis.
    n : int
        Number of tokens: 200 by default, or the number of tokens in `start`.
    runs : int
        Number of independent runs at every point of the grid.
    t_end, tol, sums
        As in `simulate`.
    seed : int
        The random numbers of run i depend only on (seed, i), so the bits of the result do not
        depend on the workers or their order. They are the same at every point of the grid, so
        that differences between points are not due to chance.
    times : array or {"from", "to", "count"}, optional
        When to measure. By default t=0 and 60 times in equal ratios from 0.1 to `t_end`.
    measure : names
        What to measure of each run: "clusters", "merges", "forecast", "consumption", "centers",
        "final", "trajectory", "lengths" (see Notes).
    beta, d, mask, norm
        As in `Transformer`.
    heads, d_head : int
        Number and rank of random heads, drawn for every run, instead of one with V, Q and K.
    mlp : int
        The width of a random MLP, drawn for every run; 0 for none.
    noise : float
        κ of Brownian motion, as in `Noise`, drawn for every run; infinite for none.
    V, Q, K
        A number, a diagonal (a list of numbers), a matrix (an array), "I", or "gaussian" for
        independent entries N(0, 1/d), drawn for every run. Give several in a list, or in a
        dictionary that names them.
    c, delta : float
        Centres are separated by the angle δ = cβ^{-1/2}, with c = 4 by default, or by `delta`.
    radius : float, optional
        A token is consumed within this angle of a centre; by default 0.5·β^{-1/2}, and 0.5 for
        β < 1.
    cluster_radius : float
        The radius of clusters, an angle; `clusters.default_radius` of each model by default.
    start : law of the tokens
        "uniform" (the default), ("von Mises-Fisher", kappa), ("mixture", components, spread) —
        see `parkade.sphere` — or an (n, d) array of tokens.
    batch : int, optional
        Number of runs in one file: 50 by default, fewer in small ensembles.
    store : directory, optional
        Where to keep the batches. Repeat an interrupted call to continue it. By default nothing
        is written to disk.
    executor : "threads", "processes" or concurrent.futures.Executor, optional
        What runs the batches: threads by default. Dask's ``client.get_executor()`` is an
        executor; its workers must see the `store`, if there is one.
    workers : int, optional
        Number of threads or processes; all cores by default.
    progress : bool
        Show a progress bar on standard error.
    report : function, optional
        Called with the fraction that is done; replaces the progress bar.

    Returns
    -------
    xarray.Dataset
        The dimensions are the swept parameters, "run", and those of the measures: "time",
        "token", "axis", "kind" ("renyi", "strong"), "plateau" ("first", "longest"). If `n` or
        `d` is swept, missing entries are NaN. If clusters are measured, the coordinate
        "cluster_radius" is their radius. The attributes contain the recipe and the versions,
        as JSON.

    Notes
    -----
    The measures are

    - "clusters": `clusters` and the share `largest` of the largest cluster, over time. These are
      clusters by links: tokens linked at that time, as in `cluster_labels`;
    - "merges": `arrival` of each token, and `plateau_clusters`, `plateau_start`,
      `plateau_end` of the first and the longest plateau. These are clusters by leaders: tokens
      that have not arrived at an earlier one, as in `clusters.merge_tree`;
    - "forecast": `forecast_arrival` of each token, the share `forecast_right` of merges whose
      partner was forecast, and `forecast_error`, the rms of ln(forecast time / observed time);
    - "consumption": the share `consumed` by the Rényi and by the strong centres, over time;
    - "centers": their number, `centers`, and their mean `displacement` over time, an angle;
    - "final": the tokens at `t_end`, "trajectory": the `tokens` over time, "lengths": their
      `radii` over time, NaN under a normalisation without lengths.

    `trusted_until` of every run is always included (see `Trajectory`).

    Examples
    --------
    >>> import parkade as pk
    >>> ds = pk.ensemble(d=2, beta=[4.0, 64.0], n=50, runs=20, t_end=20.0)
    >>> dict(ds.clusters.sizes)
    {'beta': 2, 'run': 20, 'time': 61}
    >>> ds.clusters.isel(time=-1).mean("run").values.tolist(), ds.cluster_radius.values.tolist()
    ([2.6, 9.9], [0.05, 0.0125])
    """
    parameters = {
        "beta": beta, "n": n, "d": d, "V": V, "Q": Q, "K": K, "mask": mask, "norm": norm,
        "heads": heads, "d_head": d_head, "mlp": mlp, "noise": noise, "start": start,
        "c": c, "delta": delta, "cluster_radius": cluster_radius,
    }  # fmt: skip
    settings = {
        "runs": runs, "t_end": t_end, "seed": seed, "times": times, "measure": measure,
        "radius": radius, "tol": tol, "batch": batch, "sums": sums,
    }  # fmt: skip
    recipe = request.make(model, parameters, settings)
    if not (store is None or isinstance(store, (str, os.PathLike))):
        raise InputError(f"store must be the name of a directory, got {check.brief(store)}")
    options: dict[str, Any] = {"progress": progress, "report": report}
    if store is None:
        results = run_in_memory(recipe, executor, workers, **options)
    else:
        check_memory(recipe, recipe.variables)
        options["notify"] = functools.partial(warnings.warn, stacklevel=3)
        results, _ = run_in_store(Store(store, recipe), executor, workers, **options)
    warn(results)
    return results.to_xarray()


def load_ensemble(
    store: str | os.PathLike[str], partial: bool = False, variables: Iterable[str] | None = None
) -> xarray.Dataset:
    """Read an ensemble from the store of `ensemble` or ``parkade sweep``.

    Parameters
    ----------
    store : directory
    partial : bool
        Whether to read an unfinished ensemble, with NaN for missing runs.
    variables : names, optional
        The variables to read; all by default.

    Returns
    -------
    xarray.Dataset
        As returned by `ensemble`.

    Examples
    --------
    >>> import tempfile
    >>> import parkade as pk
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = pk.ensemble(d=2, n=10, runs=4, t_end=1.0, store=folder)
    ...     pk.load_ensemble(folder).identical(made)
    True
    """
    results = Store.open(Path(store)).read(partial=partial, variables=variables)
    if mixed := mixture(results.versions):
        warnings.warn(mixed, stacklevel=2)
    return results.to_xarray()


def warn(results: Results) -> None:
    """Warn if a finished ensemble has untrusted runs or mixed versions."""
    recipe = results.recipe
    late = int((results.arrays["trusted_until"] < recipe.t_end).sum())
    if late:
        warnings.warn(
            f"in {late} of {recipe.total} runs rounding, not the model, may move tokens by more "
            "than tol after some time; see trusted_until",
            TrustWarning,
            stacklevel=3,
        )
    if mixed := mixture(results.versions):
        warnings.warn(mixed, stacklevel=3)
