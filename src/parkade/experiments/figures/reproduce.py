"""`reproduce`: make items, remember how, skip what is there, and show all on one page."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import parkade
from parkade.base import check
from parkade.base.files import atomic_write, checksum, directory, from_json, to_json
from parkade.base.progress import bar
from parkade.experiments.figures.item import Item, Job, Made
from parkade.experiments.figures.page import page
from parkade.experiments.figures.registry import FIGURES
from parkade.solve.warmup import Engine, compiled_ahead

# What all of it needs, in the order in which it is needed; the very first is compiled on the way.
_ENGINES: tuple[Engine, ...] = (
    ("explicit", 3), ("implicit", 2), ("explicit", 2), ("implicit", 8), ("explicit", 4),
    ("implicit", 4), ("implicit", 6),
)  # fmt: skip


@dataclass(frozen=True)
class Result:
    """The files of one item, the seconds they took, and whether they were there already."""

    name: str
    paths: list[Path]
    seconds: float
    kept: bool


def reproduce(
    names: str | Sequence[str] | None,
    output: str | os.PathLike[str],
    *,
    seed: int = 0,
    quick: bool = False,
    runs: int | None = None,
    progress: bool = False,
) -> list[Result]:
    """Make figures and tables of the paper, and `index.html`, which shows all that are there.

    What was made before in the same directory, by the same code and with the same settings,
    is kept: an interrupted call goes on where it stopped.

    Parameters
    ----------
    names : str, sequence of str or None
        Keys of `FIGURES`; None makes them all.
    output : path
        Directory for the files; it is made if it is not there.
    seed : int
        Seed of the random starts.
    quick : bool
        Make do with smaller samples.
    runs : int, optional
        Number of runs of Figure 3's ensemble.
    progress : bool
        Show a progress bar on standard error.

    Returns
    -------
    list of Result
        One for each name.

    Examples
    --------
    >>> from parkade.experiments import figures
    >>> for made in paper.reproduce(["fig1"], "results"):  # doctest: +SKIP
    ...     print(made.name, made.paths)
    """
    items = check.chosen("the figure", names, FIGURES)
    check.generator(seed)
    if runs is not None:
        check.positive_int("runs", runs)
    folder = directory(output)
    settings = {
        "seed": seed, "quick": quick, "runs": runs,
        "parkade": parkade.__version__, "code": _fingerprint(),
    }  # fmt: skip
    results = []
    engines = _ENGINES if names is None else ()
    with bar("reproducing", show=progress) as report, compiled_ahead(*engines):
        for i, item in enumerate(items):

            def move(fraction: float, done: int = i) -> None:
                report((done + fraction) / len(items))

            results.append(_make(item, Job(folder, seed, quick, runs, move), settings))
            _write_page(folder)
            move(1.0)
    return results


def _make(item: Item, job: Job, settings: dict[str, Any]) -> Result:
    """Make an item, unless its record says that it is there."""
    record = _record(job.output, item.name)
    kept = record is not None and record["settings"] == settings
    if record is None or not kept:
        begun = time.perf_counter()
        made = item.make(job)
        record = {
            "name": item.name,
            "title": item.title,
            "statement": item.statement,
            "settings": settings,
            "command": _command(item, job),
            "seconds": time.perf_counter() - begun,
            "made": _relative(made, job.output),
        }
        record["checksums"] = [checksum(p.read_bytes()) for p in _paths(job.output, record)]
        with atomic_write(job.output / f"{item.name}.json") as file:
            file.write(to_json(record, indent=1))
    return Result(item.name, _paths(job.output, record), record["seconds"], kept)


def _record(folder: Path, name: str) -> dict[str, Any] | None:
    """What was noted when an item was made; None if that, or a file of it, is not as it was."""
    try:
        record, sealed = from_json((folder / f"{name}.json").read_bytes())
        if not sealed:
            return None
        found = [checksum(path.read_bytes()) for path in _paths(folder, record)]
    except (OSError, ValueError, RecursionError):
        return None
    return record if found == record["checksums"] else None


def _relative(made: Made, folder: Path) -> dict[str, Any]:
    """An item's result for its record, with paths as seen from the page."""
    return {
        **{name: getattr(made, name) for name in ("parameters", "measured", "tables", "numbers")},
        "pictures": [
            dataclasses.asdict(picture) | {"path": picture.path.relative_to(folder).as_posix()}
            for picture in made.pictures
        ],
        "files": [file.relative_to(folder).as_posix() for file in made.files],
    }


def _paths(folder: Path, record: dict[str, Any]) -> list[Path]:
    pictures = [Path(picture["path"]) for picture in record["made"]["pictures"]]
    both = [path.with_suffix(kind) for path in pictures for kind in (".png", ".pdf")]
    return [folder / path for path in (*both, *map(Path, record["made"]["files"]))]


def _command(item: Item, job: Job) -> str:
    options = [f"--seed {job.seed}"] if job.seed else []
    options += ["--quick"] if job.quick else []
    options += [f"--runs {job.runs}"] if job.runs else []
    return " ".join(["parkade reproduce", item.name, *options])


def _write_page(folder: Path) -> None:
    records = [record for name in FIGURES if (record := _record(folder, name)) is not None]
    with atomic_write(folder / "index.html") as file:
        file.write(page(folder, records).encode())


def _fingerprint() -> str:
    """A digest of parkade's sources: other code may make other figures."""
    digest = hashlib.sha256()
    for source in sorted(Path(parkade.__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]
