"""The paper's figures and tables, made again from scratch: one short file for each.

Karagodin, Polyanskiy, Rigollet, "Clustering in Causal Attention Masking", NeurIPS 2024.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from parkade import check
from parkade.files import directory
from parkade.paper import circle, fig1, staircase, verdicts
from parkade.paper.item import Item, Made
from parkade.progress import bar

__all__ = ["FIGURES", "Item", "Made", "reproduce"]

FIGURES: dict[str, Item] = {
    item.name: item for item in (fig1.ITEM, circle.ITEM, staircase.ITEM, verdicts.ITEM)
}
"""Everything that can be made, by name, in the paper's order."""


def reproduce(
    names: str | Sequence[str] | None,
    output: str | os.PathLike[str],
    *,
    seed: int = 0,
    progress: bool = False,
) -> list[Made]:
    """Make figures and tables of the paper.

    Parameters
    ----------
    names : str, sequence of str or None
        Keys of `FIGURES`; None makes them all.
    output : path
        Directory for the files; it is made if it is not there.
    seed : int
        Seed of the random starts.
    progress : bool
        Show a progress bar on standard error.

    Returns
    -------
    list of Made
        For each name the files written and the seconds taken.

    Examples
    --------
    >>> from parkade import paper
    >>> for made in paper.reproduce(["fig1"], "results"):  # doctest: +SKIP
    ...     print(made.name, made.paths)
    """
    items = _chosen(names)
    check.generator(seed)
    folder = directory(output)
    results = []
    with bar("reproducing", show=progress) as report:
        for i, item in enumerate(items):
            begun = time.perf_counter()
            paths = item.make(folder, seed)
            results.append(Made(item.name, paths, time.perf_counter() - begun))
            report((i + 1) / len(items))
    return results


def _chosen(names: str | Sequence[str] | None) -> list[Item]:
    if names is None:
        return list(FIGURES.values())
    asked = [names] if isinstance(names, str) else list(names)
    # Twice the same name would be the same files twice.
    return [
        FIGURES[check.choice("the figure", name, tuple(FIGURES))] for name in dict.fromkeys(asked)
    ]
