"""Tokens between two steps of a run."""

from __future__ import annotations

from parkade.base.types import Array

DENSE = {"explicit": 3, "implicit": 2}
"""The size p of dense output by method; a copy, because the engines are slow to import."""


def interpolate(
    method: str,
    t: float,
    times: tuple[float, float],
    ends: tuple[Array, Array],
    dense: Array,
    out: Array,
) -> None:
    """Set `out` to the tokens at time t inside a step, from its ends and dense output."""
    from parkade.engine.methods import METHODS

    if t == times[1]:
        out[:] = ends[1]
    else:
        METHODS[method].interpolate((t - times[0]) / (times[1] - times[0]), *ends, dense, out)
