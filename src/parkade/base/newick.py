"""Trees in Newick format, for programs that draw phylogenies."""

from __future__ import annotations

from collections.abc import Iterable


def newick(
    leaves: Iterable[int], joins: Iterable[tuple[float, int, int]], bottom: float, top: float
) -> str:
    """A tree whose leaves begin at the height `bottom` and join one by one.

    Parameters
    ----------
    leaves : numbers of the leaves
    joins : tuples (height, into, absorbed), by increasing height
        What holds the leaf `absorbed` joins what holds the leaf `into`.
    bottom, top : float
        Heights of the leaves and of the end. What is separate at the end is joined by a root.

    Examples
    --------
    >>> from parkade.base.newick import newick
    >>> newick([0, 1, 2], [(1.0, 1, 2)], bottom=0.0, top=3.0)
    '(0:3,(1:1,2:1):2);'
    """
    trees = {leaf: (str(leaf), bottom) for leaf in leaves}

    def branch(leaf: int, end: float) -> str:
        text, begin = trees.pop(leaf)
        return f"{text}:{end - begin:.9g}"

    for height, into, absorbed in joins:
        pair = branch(into, height), branch(absorbed, height)
        trees[into] = f"({','.join(pair)})", height
    stems = [branch(leaf, top) for leaf in sorted(trees)]
    return f"{stems[0]};" if len(stems) == 1 else f"({','.join(stems)});"
