"""A figure or table of the paper, and what making it gave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Item:
    """A figure or table that can be made again.

    Attributes
    ----------
    name : str
        What one asks for.
    title : str
        What it shows, in one line.
    make : function (output: Path, seed: int) -> list of Path
        Computes it, writes its files into the directory `output` and returns their paths.
    """

    name: str
    title: str
    make: Callable[[Path, int], list[Path]]


@dataclass(frozen=True)
class Made:
    """The files of one item, and the seconds they took."""

    name: str
    paths: list[Path]
    seconds: float
