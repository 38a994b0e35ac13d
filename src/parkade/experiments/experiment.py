"""An experiment: what it needs, how it runs, and what comes out.

There are two sorts. A `Claim` also predicts something and reaches a verdict; an `Exhibit` is
a figure or table of a paper. Both run in the same way, by `Experiment.perform`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypeAlias, TypeVar

import numpy as np

from parkade.base.progress import Report
from parkade.experiments.output import Picture, Table, save_picture, write, write_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

Figure: TypeAlias = "MatplotlibFigure"
"""A figure of Matplotlib, which is imported only where something is drawn."""

CAUSAL_CLUSTERING = "2411.04990"
"""arXiv number of Karagodin, Polyanskiy, Rigollet, "Clustering in Causal Attention Masking"."""

OURS = "ours"
"""The `paper` of an experiment whose subject is our own."""

TRAINED = "trained"
"""The `paper` of an experiment on trained models."""

T = TypeVar("T")


@dataclass(frozen=True)
class Setup:
    """How an experiment runs.

    Attributes
    ----------
    quick : bool
        Take smaller samples.
    seed : int
        All randomness of an experiment comes from this.
    report : function
        Takes the fraction done, between 0 and 1.
    runs : int or None
        Number of runs of an ensemble; None leaves it to the experiment.
    folder : Path or None
        Existing directory for the files of an experiment; None writes none.
    """

    quick: bool
    seed: int
    report: Report
    runs: int | None = None
    folder: Path | None = None

    def choose(self, quick: T, full: T) -> T:
        """The first if samples are to be small, else the second."""
        return quick if self.quick else full

    def generator(self, *stream: int) -> np.random.Generator:
        """Independent randomness for each `stream` of numbers."""
        return np.random.default_rng([self.seed, *stream])

    def part(self, i: int, count: int) -> Setup:
        """The same setup for the i-th of `count` parts, whose progress is a part of this one."""
        return replace(self, report=lambda fraction: self.report((i + fraction) / count))

    def each(self, cases: Sequence[T]) -> Iterator[T]:
        """The cases, one after the other; progress is reported after each."""
        for i, case in enumerate(cases):
            yield case
            self.report((i + 1) / len(cases))


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The result of an experiment.

    Attributes
    ----------
    measured : str
        The result in words: a phrase, or a sentence or two.
    numbers : dict
        The numbers behind it, for JSON: numbers, strings, lists and dicts.
    data : dict
        Arrays and other objects for the picture.
    parameters : dict of str
        The parameters of the simulations, in the paper's symbols.
    caption : str
        The caption of the picture.
    tables : list of Table
    texts : dict of str
        Text files to write, by name.
    pictures : list of Picture
        Pictures that the experiment saved itself.
    files : list of Path
        Other files that it wrote itself.
    """

    measured: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict, repr=False)
    parameters: Mapping[str, str] = field(default_factory=dict)
    caption: str = ""
    tables: Sequence[Table] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    pictures: Sequence[Picture] = ()
    files: Sequence[Path] = ()


F = TypeVar("F", bound=Finding)
E = TypeVar("E", bound="Experiment[Any]")


@dataclass(frozen=True)
class Outcome(Generic[E, F]):
    """An experiment that was performed.

    Attributes
    ----------
    experiment : Experiment
    finding : Finding
    seconds : float
        How long it took.
    pictures : tuple of Picture
        All pictures, saved.
    files : tuple of Path
        All other files.
    """

    experiment: E
    finding: F
    seconds: float
    pictures: tuple[Picture, ...] = ()
    files: tuple[Path, ...] = ()

    @property
    def paths(self) -> list[Path]:
        """All files: those of the pictures first."""
        return [*(path for picture in self.pictures for path in picture.paths), *self.files]


@dataclass(frozen=True, kw_only=True)
class Experiment(Generic[F]):
    """Something that can be measured and drawn.

    Attributes
    ----------
    name : str
        The name by which it is chosen, and of its files.
    title : str
        What it is about, in one line.
    paper : str
        Where its subject comes from: an arXiv number, or `OURS`.
    measure : function (setup: Setup) -> Finding
        Runs the simulations and says what they show.
    draw : function (finding: Finding, figure: Figure) -> None, or None
        Draws the picture; None if there is none.
    height : float
        Height of the picture in inches; it is as wide as a page.
    """

    name: str
    title: str
    paper: str
    measure: Callable[[Setup], F]
    draw: Callable[[F, Figure], None] | None = None
    height: float = 2.7

    def perform(self, setup: Setup) -> Outcome[Self, F]:
        """Measure, then draw and write files if the setup has a folder for them."""
        begun = time.perf_counter()
        finding = self.measure(setup)
        setup.report(1.0)
        pictures, files = list(finding.pictures), list(finding.files)
        if setup.folder is not None:
            pictures += self._draw(finding, setup.folder)
            files += [write_table(t, setup.folder) for t in finding.tables if t.file]
            files += [write(setup.folder / name, text) for name, text in finding.texts.items()]
        seconds = time.perf_counter() - begun
        return Outcome(self, finding, seconds, tuple(pictures), tuple(files))

    def heading(self, finding: F) -> str:
        """The line above the picture."""
        return ""

    def caption(self, finding: F) -> str:
        """The text below the picture."""
        return finding.caption

    def _draw(self, finding: F, folder: Path) -> list[Picture]:
        draw = self.draw
        if draw is None:
            return []

        def fill(figure: Figure) -> None:
            draw(finding, figure)
            if heading := self.heading(finding):
                figure.suptitle(heading)

        caption = self.caption(finding)
        return [save_picture(fill, self.height, folder / f"{self.name}.png", caption)]


def by_name(experiments: Iterable[E]) -> dict[str, E]:
    """A registry: experiments by name, in this order."""
    registry: dict[str, E] = {}
    for experiment in experiments:
        if experiment.name in registry:
            raise ValueError(f"two experiments have the name {experiment.name!r}; rename one")
        registry[experiment.name] = experiment
    return registry
