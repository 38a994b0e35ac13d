"""A figure or table of the paper: what it is, how to make it, and what that gave."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from parkade.base.progress import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

T = TypeVar("T")


@dataclass(frozen=True)
class Job:
    """What an item is made with.

    Attributes
    ----------
    output : Path
        An existing directory for its files.
    seed : int
        Seed of all its randomness.
    quick : bool
        Make do with smaller samples.
    runs : int or None
        Number of runs of an ensemble; None leaves it to the item.
    report : function
        Takes the fraction done, between 0 and 1.
    """

    output: Path
    seed: int
    quick: bool
    runs: int | None
    report: Report

    def choose(self, quick: T, full: T) -> T:
        """The first for a quick look, the second for the real thing."""
        return quick if self.quick else full

    def save(self, figure: Figure, name: str, caption: str) -> Picture:
        """Write a figure as name.png and name.pdf."""
        from parkade import plots

        plots.save(figure, self.output / f"{name}.pdf")
        return Picture(plots.save(figure, self.output / f"{name}.png"), caption)


@dataclass(frozen=True)
class Picture:
    """A figure on the page: its PNG file, with a PDF of the same name beside it."""

    path: Path
    caption: str


@dataclass(frozen=True)
class Made:
    """What making an item gave.

    Attributes
    ----------
    parameters : dict of str
        With which it was made, in the paper's symbols.
    measured : str
        What we saw, in a sentence or two.
    pictures : list of Picture
    tables : list of tables
        Each a list of rows of text, the first being the heading.
    files : list of Path
        Other files that were written.
    numbers : dict
        What was measured, for programs.
    """

    parameters: Mapping[str, str]
    measured: str
    pictures: Sequence[Picture] = ()
    tables: Sequence[Sequence[Sequence[str]]] = ()
    files: Sequence[Path] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Item:
    """A figure or table that can be made again.

    Attributes
    ----------
    name : str
        What one asks for.
    title : str
        What it shows, in one line.
    statement : str
        What the paper says about it.
    make : function (job: Job) -> Made
        Computes it and writes its files.
    """

    name: str
    title: str
    statement: str
    make: Callable[[Job], Made]
