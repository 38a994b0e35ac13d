"""Run the batches of an ensemble: all of them in memory, or the missing ones of a store."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from typing import Any

from parkade.base import check
from parkade.base.errors import DamagedError, ParkadeError
from parkade.base.progress import Report, bar
from parkade.sweeps.batch import BatchResult, EnsembleJob, run_batch
from parkade.sweeps.recipe import Recipe
from parkade.sweeps.results import Results, allocate
from parkade.sweeps.store import Store
from parkade.sweeps.versions import distinct
from parkade.sweeps.workers import Submit, check_sendable, pool_of, run_all

Workers = Executor | str | None
"""An executor, or the name of a pool."""


def run_in_memory(
    recipe: Recipe, executor: Workers = None, workers: int | None = None, **options: Any
) -> Results:
    """Run all batches and collect their results in memory."""
    arrays = allocate(recipe, recipe.variables)
    versions = set()

    def collect(measured: BatchResult) -> None:
        members = recipe.members(measured.batch)
        for name, array in arrays.items():
            array[members.start : members.stop] = measured.arrays[name]
        versions.add(measured.versions)

    pool = _pool(recipe, executor, workers)
    job = EnsembleJob(recipe.to_json(), recipe.models)
    _run(recipe, [(job, batch) for batch in range(recipe.batches)], pool, collect, **options)
    return Results(recipe, arrays, distinct(versions))


def run_in_store(
    store: Store,
    executor: Workers = None,
    workers: int | None = None,
    *,
    variables: Iterable[str] | None = None,
    notify: Callable[[str], None],
    **options: Any,
) -> tuple[Results, int]:
    """Run missing and damaged batches; return the whole ensemble and the number of batches run."""
    count = complete(store, executor, workers, **options)
    try:
        return store.read(variables=variables), count
    except DamagedError as error:
        aside = store.set_aside(error.files)
    notify(f"damaged batches in {store.path} are computed again; see {', '.join(aside)}")
    count += complete(store, executor, workers, **options)
    return store.read(variables=variables), count


def complete(
    store: Store, executor: Workers = None, workers: int | None = None, **options: Any
) -> int:
    """Run the missing batches of a store; return their number."""
    recipe = store.recipe
    pool = _pool(recipe, executor, workers)
    store.prepare()
    missing = sorted(set(range(recipe.batches)).difference(store.done()))
    job = EnsembleJob(recipe.to_json(), recipe.models, str(store.path.resolve()))
    try:
        _run(recipe, [(job, batch) for batch in missing], pool, lambda _: None, **options)
    except ParkadeError as error:
        raise type(error)(
            f"{error}; {len(store.done())} of {recipe.batches} batches are kept in {store.path}: "
            "run it again to continue"
        ) from None
    return len(missing)


def _pool(recipe: Recipe, executor: Workers, workers: int | None) -> AbstractContextManager[Submit]:
    check.compiler()
    pool = pool_of(executor, workers)
    if recipe.models and executor not in (None, "threads"):
        check_sendable(recipe.models)
    return pool


def _run(
    recipe: Recipe,
    tasks: list[tuple[EnsembleJob, int]],
    pool: AbstractContextManager[Submit],
    collect: Callable[[Any], None],
    *,
    progress: bool = False,
    report: Report | None = None,
) -> None:
    """Run batches in a pool; if any fail, raise an error after the others have ended."""
    remaining = len(tasks)
    with bar(f"simulating {recipe.total} runs", show=progress, instead=report) as update:
        update(1 - remaining / recipe.batches)

        def finished(result: BatchResult | None) -> None:
            nonlocal remaining
            collect(result)
            remaining -= 1
            update(1 - remaining / recipe.batches)

        failed = run_all(run_batch, tasks, pool, finished)
    if failed:
        several = f"{len(failed)} batches failed; the first: " if len(failed) > 1 else ""
        raise ParkadeError(f"{several}{failed[0]}")
