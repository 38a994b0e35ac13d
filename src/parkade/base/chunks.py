"""Large arrays in pieces, so that intermediate results fit in memory."""

from __future__ import annotations

from collections.abc import Iterator

CHUNK = 2**21
"""The number of floats of a piece, if no other is asked for."""


def chunks(count: int, size: int, most: int = CHUNK) -> Iterator[slice]:
    """Slices that divide `count` items of `size` floats each into pieces of at most `most` floats.

    A piece has at least one item.

    Examples
    --------
    >>> from parkade.base.chunks import chunks
    >>> [list(range(10))[piece] for piece in chunks(10, size=2, most=8)]
    [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    """
    step = max(1, most // size)
    return (slice(i, min(i + step, count)) for i in range(0, count, step))
