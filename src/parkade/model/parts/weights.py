"""From scores to weights: softmax attention and its relatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from parkade.base.types import Array

_TIE = 1e-12  # scores this close, relative to their size, are equal for hardmax


def softmax(xp: Any, scores: Any, seen: Any) -> Any:
    """e^score, divided by their sum."""
    weights = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
    return weights / xp.sum(weights, axis=-1, keepdims=True)


def unnormalised(xp: Any, scores: Any, seen: Any) -> Any:
    """e^score, divided by the number of keys."""
    return xp.exp(scores) / xp.sum(seen, axis=-1, keepdims=True)


def linear(xp: Any, scores: Any, seen: Any) -> Any:
    """The score itself, divided by the number of keys."""
    return xp.where(seen > 0, scores, xp.zeros_like(scores)) / xp.sum(seen, axis=-1, keepdims=True)


def hardmax(xp: Any, scores: Any, seen: Any) -> Any:
    """The same weight for all keys with the largest score, as for β → ∞; 0 for the others."""
    top = xp.max(scores, axis=-1, keepdims=True)
    first = xp.where(scores >= top - _TIE * (1 + xp.abs(top)), seen, xp.zeros_like(seen))
    return first / xp.sum(first, axis=-1, keepdims=True)


KINDS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "softmax": softmax,
    "linear": linear,
    "unnormalised": unnormalised,
    "hardmax": hardmax,
}
"""Functions of the array namespace, of scores (..., n, m), −inf for masked keys, and of how often
each key counts, (n, m), 0 for masked keys."""


def offsets(seen: Array) -> Array:
    """What is added to scores: the logarithm of how often each key counts."""
    with np.errstate(divide="ignore"):
        logarithms: Array = np.log(seen)
    return logarithms
