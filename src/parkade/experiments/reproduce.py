"""`reproduce`: make the figures and tables that are missing, and show all on one page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from parkade.base import check
from parkade.base.files import directory
from parkade.base.progress import bar
from parkade.experiments import records
from parkade.experiments.exhibit import Exhibit
from parkade.experiments.experiment import OURS, Setup
from parkade.experiments.figures.registry import FIGURES
from parkade.experiments.output import write
from parkade.experiments.page import page
from parkade.solve.warmup import Kind, compiled_ahead

# What all figures together need, in the order of use; but implicit steps for d = 3, which the first
# of them needs, are compiled on the way.
_ENGINES = (
    Kind("explicit", 3, "direct"), Kind("implicit", 2, "harmonic"), Kind("explicit", 2, "harmonic"),
    Kind("implicit", 4, "direct"), Kind("implicit", 2, "direct"), Kind("implicit", 8, "direct"),
    Kind("explicit", 4, "direct"),
    Kind("implicit", 8, "direct", parts=True), Kind("splitting", 8, "direct", parts=True),
)  # fmt: skip


class Reproduced(NamedTuple):
    """The files of one exhibit, the seconds they took, and whether they were there already."""

    name: str
    paths: list[Path]
    seconds: float
    reused: bool


def reproduce(
    names: str | Sequence[str] | None,
    output: str | os.PathLike[str],
    *,
    seed: int = 0,
    quick: bool = False,
    runs: int | None = None,
    progress: bool = False,
) -> list[Reproduced]:
    """Make figures and tables of the paper, and `index.html`, which shows all that are there.

    Files that the same code made before with the same settings are reused, so a call that was
    interrupted continues where it stopped.

    Parameters
    ----------
    names : str, sequence of str or None
        Keys of `FIGURES`; None makes them all, with small samples for what is beyond the paper.
    output : path
        Directory for the files. It is created if it does not exist.
    seed : int
        Seed of the random starts.
    quick : bool
        Take smaller samples.
    runs : int, optional
        Number of runs of the ensembles of Figure 3, and of our findings.
    progress : bool
        Show a progress bar on standard error.

    Returns
    -------
    list of Reproduced
        One for each name.

    Examples
    --------
    >>> from parkade.experiments.reproduce import reproduce
    >>> for made in reproduce(["fig1"], "results"):  # doctest: +SKIP
    ...     print(made.name, made.paths)
    """
    exhibits = check.chosen("the figure", names, FIGURES)
    check.generator(seed)
    if runs is not None:
        check.positive_int("runs", runs)
    folder = directory(output)
    made = []
    engines = _ENGINES if names is None else ()
    with bar("reproducing", show=progress) as report, compiled_ahead(*engines):
        for i, exhibit in enumerate(exhibits):
            setup = Setup(quick, seed, report, runs, folder).part(i, len(exhibits))
            made.append(_make(exhibit, setup, folder, alone=names is not None))
            stored = [r for name in FIGURES if (r := records.find_record(folder, name)) is not None]
            write(folder / "index.html", page(folder, stored))
            setup.report(1.0)
    return made


def _make(exhibit: Exhibit, setup: Setup, folder: Path, *, alone: bool) -> Reproduced:
    """Make an exhibit, unless its record says that it is there.

    What is beyond the paper takes long: a small sample is enough, unless it is asked for alone.
    """
    small = setup if alone or exhibit.paper != OURS else replace(setup, quick=True)
    record = records.find_record(folder, exhibit.name)
    enough = [records.settings_of(each) for each in (small, setup)]
    reused = record is not None and record["settings"] in enough
    if record is None or not reused:
        record = records.write_record(exhibit.perform(small), enough[0], folder)
    paths = records.record_paths(folder, record)
    return Reproduced(exhibit.name, paths, record["seconds"], reused)
