"""Whether the last hidden state has been through the norm that follows the last layer.

Libraries often return it so, and then it is no state of the residual stream: measured with the
others it looks as if something happened in the last layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkade.base.types import Array
from parkade.trained.measures.prepare import LONG

EVEN = 0.01
"""A state whose lengths spread less than this was divided by its lengths a moment ago."""

NARROW = 0.25
"""A state whose lengths spread more than this was not."""

GROWN = 2.0
"""The least factor by which lengths grow over the layers if no layer ends with a norm."""

JUMP = 3.0
"""The least factor between the lengths in the last two states that no layer explains."""


def has_final_norm(texts: Sequence[NDArray[Any]]) -> bool:
    """Whether the last state has the final norm, by the lengths of tokens.

    The norm gives all tokens about the same length. So the lengths in the last state are nearly
    equal while those before are not; or they spread little, in a stream that has grown over the
    layers (otherwise each layer ends with a norm, as in BERT), and one of three things happens at
    once: they jump, their spread falls to a third, or very long tokens are long no more.
    """
    if len(texts[0]) < 3:
        return False
    first, before, last = (_lengths(texts, layer) for layer in (0, -2, -1))
    spread, previous = _spread(last), _spread(before)
    if spread < EVEN:
        return previous > 3 * spread + 1e-6
    grown = np.median(before) > GROWN * np.median(first)
    jump = abs(np.log(np.median(last) / np.median(before))) > np.log(JUMP)
    tamed = before.max() > LONG * np.median(before) and last.max() < 2 * np.median(last)
    return bool(spread < NARROW and grown and (jump or tamed or 3 * spread < previous))


def lengths_in_words(texts: Sequence[NDArray[Any]]) -> str:
    """The lengths of tokens in the last two states, in words."""
    before, last = _lengths(texts, -2), _lengths(texts, -1)
    return (
        f"median length {np.median(last):.3g} with a spread of {_spread(last):.1%}, before it "
        f"{np.median(before):.3g} with {_spread(before):.1%}"
    )


def _lengths(texts: Sequence[NDArray[Any]], layer: int) -> Array:
    """The lengths of all tokens in a layer; tokens of length 0 get an error elsewhere."""
    rows = [np.linalg.norm(x[layer].astype(np.float64), axis=1) for x in texts]
    lengths: Array = np.maximum(np.concatenate(rows), 1e-300)
    return lengths


def _spread(lengths: Array) -> float:
    """The middle half of the lengths, by their median."""
    low, middle, high = np.quantile(lengths, [0.25, 0.5, 0.75])
    return float((high - low) / middle)
