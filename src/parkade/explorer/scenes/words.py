"""What the path of a text has besides its tokens: words, layers as times, attention."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from parkade.base import check
from parkade.base.errors import InputError
from parkade.runs.path import Path

CLOSE = math.acos(0.9)
"""Tokens of a trained model with a smaller angle are one cluster: their cosine is above 0.9."""


@dataclass(frozen=True, eq=False)
class Words:
    """Words and attention of a path whose times are layers.

    Attributes
    ----------
    words : sequence of str
        The name of each token.
    title : str
        What is shown, in one line.
    attention : (L, H, n, n) array, optional
        Weights of each layer and head: row k is what token k attends to.
    mask : str
        Of the attention, "causal" or "full".
    radius : float
        Angle below which tokens are in one cluster.

    Examples
    --------
    >>> import numpy as np
    >>> import parkade as pk
    >>> from parkade.explorer.standalone.export import show
    >>> from parkade.explorer.scenes.words import Words
    >>> layers = np.random.default_rng(1).standard_normal((6, 3, 8))  # 6 layers, 3 tokens
    >>> page = show(pk.Path.normalized(range(6), layers), Words(["the", "cat", "sat"], "A text"))
    """

    words: Sequence[str]
    title: str
    attention: ArrayLike | None = None
    mask: str = "causal"
    radius: float = CLOSE

    def to_scene(self, path: Path) -> dict[str, Any]:
        """The entries of the scene; attention is stored as its root, in steps of 1/255."""
        if len(self.words) != path.n:
            raise InputError(
                f"there must be one word for each of the {path.n} tokens, got {len(self.words)}"
            )
        entries = {
            "label": self.title,
            "words": list(self.words),
            "unit": "layer",
            "facts": {"n": str(path.n), "d": str(path.d), "layers": str(len(path.times) - 1)},
        }
        if self.attention is None:
            return entries
        weights = check.array("attention", self.attention)
        layers = len(path.times) - 1
        if weights.ndim != 4 or weights.shape[0] != layers or weights.shape[2:] != (path.n,) * 2:
            raise InputError(
                f"attention must be a ({layers}, heads, {path.n}, {path.n}) array like the path, "
                f"got shape {weights.shape}"
            )
        steps = np.round(255 * np.sqrt(np.clip(weights, 0, 1))).astype(np.uint8)
        return {
            **entries,
            "mask": check.choice("mask", self.mask, ("causal", "full")),
            "attention": {
                "heads": weights.shape[1],
                "roots": base64.b64encode(steps.tobytes()).decode("ascii"),
            },
        }
