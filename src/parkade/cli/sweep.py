"""`parkade sweep`: run an ensemble described by a file, or continue it."""

from __future__ import annotations

import inspect
import json
import logging
import sys
import time
import warnings
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from parkade.base.numbers import counted
from parkade.base.tables import Column, text_table
from parkade.cli.guard import guarded, interruptible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parkade.sweeps.recipe import Recipe
    from parkade.sweeps.results import Results
    from parkade.sweeps.store import Store

EXAMPLES = (
    "parkade sweep phase.toml",
    "parkade sweep phase.toml --workers 8 --plot phase.pdf",
    "parkade sweep phase.toml --status",
    "parkade sweep phase.toml --check",
    "parkade sweep phase.toml --scheduler tcp://10.0.0.1:8786",
)

FILE = """\
d = 2
n = 100
beta = [1, 4, 16, 64]      # a list is an axis of the grid
runs = 100                 # at each point
t_end = 150
times = {from = 0.1, to = 150, count = 40}
measure = ["clusters"]
seed = 1
"""


@guarded
def sweep(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE.toml", help="The arguments of parkade.ensemble."),
    ],
    store: Annotated[
        Path | None,
        typer.Option(
            "--store", metavar="DIRECTORY", help="Write batches here.  [default: FILE, no suffix]"
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", help="Number of workers.  [default: all cores]")
    ] = None,
    pool: Annotated[
        str,
        typer.Option("--pool", metavar="threads|processes", help="Kind of workers."),
    ] = "threads",
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", metavar="ADDRESS", help="Run on a Dask cluster."),
    ] = None,
    status: Annotated[
        bool, typer.Option("--status", help="Show how much is done and exit.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Read every batch, list the bad ones and exit.")
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot", metavar="FILE", help="Draw clusters over beta and time: .png, .pdf or .svg."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Run the ensemble described by a file; run it again to continue after a stop."""
    with interruptible("nothing was started"):
        from parkade.sweeps.store import Store

        recipe = read_recipe(file)
        batches = Store(file.with_suffix("") if store is None else store, recipe)
        if status:
            different = []
            if batches.path.exists():
                batches = Store.open(batches.path)
                different = batches.recipe.differences(recipe)
            _print_status(batches, different, as_json)
            return
        if check:
            _check(batches, as_json)
            return
        if plot is not None:
            _check_plot(plot, recipe)
    begun = time.perf_counter()
    try:
        with interruptible(""):
            results, count = _run(batches, pool, workers, scheduler, plot is not None)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"{len(batches.done())} of {recipe.batches} batches are kept in {batches.path}; "
            "run the same command again to continue"
        ) from None
    seconds = time.perf_counter() - begun
    if plot is not None:
        from parkade import plots

        plots.save(plots.phase_diagram(results.to_xarray()).figure, plot)  # type: ignore[arg-type]  # no SubFigure
    rows = [
        ("done", f"{count} of {recipe.batches} batches now, in {seconds:.1f} s"),
        ("store", str(batches.path)),
        ("plot", str(plot or "")),
        ("read it", f'parkade.load_ensemble("{batches.path}")'),
    ]
    facts = {"batches_made": count, "seconds": seconds, "plot": str(plot) if plot else None}
    _print(batches, as_json, facts, rows)


def read_recipe(path: Path) -> Recipe:
    """The recipe described by a TOML file."""
    import tomllib

    from parkade.base import check
    from parkade.base.errors import InputError
    from parkade.cli import parse
    from parkade.sweeps import grid, request
    from parkade.sweeps.ensemble import ensemble
    from parkade.sweeps.recipe import SETTINGS

    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(
            f"there is no file {path}; parkade sweep --help shows an example"
        ) from None
    except (ValueError, RecursionError) as error:  # also an int of 5000 digits, deep lists
        raise InputError(f"{path} is not a TOML file: {error}") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    known = inspect.signature(ensemble).parameters
    names = [
        name for name in known if name in (*grid.PARAMETERS[1:], *SETTINGS)
    ]  # a file cannot contain a model
    for name in settings:
        if name not in names:
            got = check.brief(name)
            raise InputError(f"{path} has the unknown key {got}; use one of {', '.join(names)}")
    start = settings.get("start")
    if isinstance(start, str) and Path(start).suffix in (".npy", ".csv", ".txt"):
        settings["start"] = parse.tokens("start", path.parent / start)
    full = {name: settings.get(name, known[name].default) for name in names}
    options = {name: full.pop(name) for name in SETTINGS}
    return request.make(None, full, options)


def _run(
    store: Store, pool: str, workers: int | None, scheduler: str | None, clusters: bool
) -> tuple[Results, int]:
    """Run the missing batches; return the variables needed and the number of batches run."""
    from parkade.sweeps.ensemble import warn
    from parkade.sweeps.runner import run_in_store

    names = ["trusted_until", *(["clusters"] if clusters else [])]
    with _executor(pool, scheduler) as executor:
        results, count = run_in_store(
            store, executor, workers, variables=names, notify=_notify, progress=sys.stderr.isatty()
        )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn(results)
    for warning in caught:
        _notify(str(warning.message))
    return results, count


def _notify(sentence: str) -> None:
    print(f"parkade: {sentence}", file=sys.stderr)


@contextmanager
def _executor(pool: str, scheduler: str | None) -> Iterator[Any]:
    """The requested executor: the name of a pool, or the executor of a Dask cluster."""
    from parkade.base.errors import InputError

    if scheduler is None:
        yield pool
        return
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise InputError(
            "--scheduler needs Dask, which is not installed; pip install 'parkade[cluster]'"
        ) from None
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # Dask logs tracebacks for errors that we report
    try:
        try:
            client = distributed.Client(scheduler, timeout=10)
        except Exception as error:  # Dask and its dependencies raise anything on a bad address
            reason = " ".join(str(error).split())
            raise InputError(f"--scheduler: cannot reach {scheduler} ({reason})") from None
        with client:
            yield client.get_executor()
    finally:
        logging.disable(before)


def _check_plot(path: Path, recipe: Recipe) -> None:
    """Raise an error before the run if its result could not be plotted after it."""
    from parkade.base.errors import InputError
    from parkade.cli.parse import check_figure

    check_figure(path)
    dims = recipe.variables["clusters"].dims if "clusters" in recipe.measure else ()
    swept = [*recipe.points, *(name for name in recipe.observers if name in dims)]
    if not dims or swept != ["beta"]:
        raise InputError(
            "--plot draws clusters over beta and time, so it needs a sweep of beta alone that "
            f"measures clusters, got a sweep of {', '.join(swept) or 'nothing'} that measures "
            f"{', '.join(recipe.measure)}"
        )


def _print_status(store: Store, different: list[str], as_json: bool) -> None:
    """Print how much is done, and how the store differs from the ensemble of the file."""
    from parkade.sweeps.versions import mixture

    mixed = mixture(store.versions())
    done, total = len(store.done()), store.recipe.batches
    rows = [
        ("done", f"{done} of {total} batches ({100 * done / total:.0f} %)"),
        ("store", str(store.path)),
        ("mixed", mixed or ""),
        ("differs", f"from the file: {'; '.join(different)}" if different else ""),
    ]
    _print(store, as_json, {"differences": different, "mixed": mixed}, rows)


def _check(store: Store, as_json: bool) -> None:
    """Print which files are bad; if there are any, exit with an error."""
    from parkade.base.errors import ParkadeError
    from parkade.sweeps.versions import mixture

    findings = store.check()
    mixed = mixture(findings.distinct_versions)
    bad = {name: str(error) for name, error in findings.bad.items()}
    rows = [
        ("checked", f"{len(store.done())} of {store.recipe.batches} batches"),
        ("mixed", mixed or ""),
        *(("bad", f"{name}: {reason}") for name, reason in bad.items()),
        ("store", str(store.path)),
    ]
    _print(store, as_json, {"bad": bad, "mixed": mixed}, rows)
    if bad:
        raise ParkadeError(
            f"{store.path} has {counted(len(bad), 'bad file')}; run the same "
            "command without --check to compute them again"
        )


def _print(store: Store, as_json: bool, facts: dict[str, Any], rows: list[tuple[str, str]]) -> None:
    """Print a summary of an ensemble: JSON with `facts`, or a table with the nonempty `rows`."""
    from parkade.sweeps import radii

    recipe = store.recipe
    if as_json:
        about = {
            "store": str(store.path),
            "simulations": recipe.total,
            "batches": recipe.batches,
            "batches_done": len(store.done()),
            "recipe": json.loads(recipe.to_json()),
        }
        print(json.dumps({**about, **facts}, ensure_ascii=False))
        return
    swept = {name: axis for name, axis in recipe.axes.items() if axis.swept}
    lengths = " × ".join(f"{len(axis.values)} {name}" for name, axis in swept.items())
    simulations = counted(recipe.total, "simulation")
    shown = [
        ("grid", lengths or "one point"),
        ("runs", f"{recipe.runs} at each point, {simulations} to t={recipe.t_end:g}"),
        ("measure", ", ".join(recipe.measure)),
    ]
    if radii.needed(recipe.variables):
        shown.append(("radius", f"{radii.as_text(recipe)} (of clusters)"))
    shown += [row for row in rows if row[1]]
    print(text_table([Column(), Column()], shown))
