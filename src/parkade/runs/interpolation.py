"""Interpolation of tokens between two steps of a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from parkade.base.types import Array

DENSE = {"explicit": 3, "implicit": 2, "splitting": 0}
"""The size p of dense output by method, copied here because engines are slow to import."""

METHOD = {size: method for method, size in DENSE.items()}
"""The method by the size of its dense output."""


def interpolate(
    method: str,
    t: float,
    times: tuple[float, float],
    ends: tuple[Array, Array],
    dense: Array,
    out: Array,
) -> None:
    """Set `out` to the tokens at time t inside a step, from its ends and dense output."""
    from parkade.engine.steps.methods import METHODS

    if t == times[1]:
        out[:] = ends[1]
        return
    theta = (t - times[0]) / (times[1] - times[0])
    if out.flags.c_contiguous and dense.flags.c_contiguous:
        METHODS[method].interpolate(theta, *ends, dense, out)
        return
    tokens = np.empty(out.shape)
    start, end, bends = (np.ascontiguousarray(part) for part in (*ends, dense))
    METHODS[method].interpolate(theta, start, end, bends, tokens)
    out[:] = tokens


def between(method: str, theta: float, start: Array, end: Array, dense: Array) -> Array:
    """Numbers (n,) interpolated at a fraction `theta` of a step; `dense` is (p, n)."""
    result: Array = BETWEEN[method](theta, start, end, dense)
    return result


# Each works for one number or for many; packaging/wasm compiles them for pages, too.


def _explicit(theta: float, start: Any, end: Any, dense: Any) -> Any:
    bend = dense[0] + theta * (dense[1] + (1 - theta) * dense[2])
    return start + theta * (end - start + (1 - theta) * bend)


def _implicit(theta: float, start: Any, end: Any, dense: Any) -> Any:
    bend = dense[0] + theta * dense[1]
    return start + theta * (end - start + (1 - theta) * bend)


def _splitting(theta: float, start: Any, end: Any, dense: Any) -> Any:
    return start + theta * (end - start)


BETWEEN = {"explicit": _explicit, "implicit": _implicit, "splitting": _splitting}
"""The interpolation of `between`, by method."""
