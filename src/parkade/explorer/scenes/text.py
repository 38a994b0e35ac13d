"""What the page of a text has besides its path: a title, layers as times, attention."""

from __future__ import annotations

import base64
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.numbers import counted
from parkade.runs.path import Path

CLOSE = math.acos(0.9)
"""Tokens of a trained model with a smaller angle are one cluster: their cosine is above 0.9."""


@dataclass(frozen=True, eq=False)
class Text:
    """The title and the attention of a path whose times are layers and whose tokens have words.

    Attributes
    ----------
    title : str
        What is shown, in one line; a plain sentence by default.
    attention : (L, H, n, n) array, optional
        Weights of each layer and head: row k is what token k attends to.
    mask : str
        Of the attention, "causal" or "full".

    Examples
    --------
    >>> import numpy as np
    >>> import parkade as pk
    >>> from parkade.explorer.standalone.export import show
    >>> from parkade.explorer.scenes.text import Text
    >>> layers = np.random.default_rng(1).standard_normal((6, 3, 8))  # 6 layers, 3 tokens
    >>> path = pk.Path.normalized(range(6), layers, words=["the", "cat", "sat"])
    >>> page = show(path, Text("A text"))
    """

    title: str = ""
    attention: ArrayLike | None = None
    mask: str = "causal"

    def to_scene(self, path: Path) -> dict[str, Any]:
        """The entries of the scene; attention is stored as its root, in steps of 1/255."""
        layers = len(path.times) - 1
        entries = {
            "label": self.title or f"{path.n} tokens of a text through {counted(layers, 'layer')}",
            "unit": "layer",
            "facts": {"n": str(path.n), "d": str(path.d), "layers": str(layers)},
        }
        if self.attention is None:
            return entries
        weights = check.array("attention", self.attention)
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
