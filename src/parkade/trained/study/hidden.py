"""`HiddenText`: the hidden states of one text, from any model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.runs.path import Path


@dataclass(frozen=True, eq=False)
class HiddenText:
    """The hidden states of one text.

    Attributes
    ----------
    states : (L+1, n, d) array
        The tokens before the first layer and after each.
    words : sequence of n str
        The words of the tokens.
    attention : (L, H, n, n) array or None
        The weights of the heads of each layer.
    """

    states: NDArray[Any]
    words: Sequence[str]
    attention: NDArray[Any] | None = None

    def path(self) -> Path:
        """The directions of the tokens with their words and lengths, layer by layer."""
        states: Array = self.states.astype(np.float64)
        lengths = np.linalg.norm(states, axis=-1)
        if not (lengths > 0).all():
            layer, token = np.argwhere(lengths == 0)[0]
            raise InputError(f"token {token} has no direction in layer {layer}: all entries are 0")
        times = np.arange(len(states), dtype=np.float64)
        return Path(times, states / lengths[..., None], radii=lengths, words=self.words)

    @property
    def causal(self) -> bool:
        """Whether there is attention, and no token attends to a later one."""
        return self.attention is not None and not np.triu(self.attention, 1).any()
