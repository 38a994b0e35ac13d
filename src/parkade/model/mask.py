"""Masks: which tokens a token attends to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from parkade.base import check


class Mask(ABC):
    """Which tokens a token attends to.

    A mask equals its name, so that ``model.mask == "causal"`` works.

    Attributes
    ----------
    name : str
        Its name in arguments and files.
    triangular : bool
        Whether no token attends to a later one.
    """

    name: ClassVar[str]
    triangular: ClassVar[bool]

    @abstractmethod
    def sees(self, n: int) -> NDArray[np.bool_]:
        """An (n, n) array: entry (k, j) says whether token k attends to token j."""

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other) if isinstance(other, (str, Mask)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Causal(Mask):
    """A token attends to itself and to earlier tokens: N(k) = {j ≤ k}."""

    name = "causal"
    triangular = True

    def sees(self, n: int) -> NDArray[np.bool_]:
        """The lower triangle."""
        return np.tri(n, dtype=np.bool_)


class Full(Mask):
    """Every token attends to all tokens."""

    name = "full"
    triangular = False

    def sees(self, n: int) -> NDArray[np.bool_]:
        """Everything."""
        return np.ones((n, n), dtype=np.bool_)


MASKS: dict[str, Mask] = {mask.name: mask for mask in (Causal(), Full())}
"""Masks by name."""


def read(value: Any) -> Mask:
    """A mask from an object or from its name."""
    return value if isinstance(value, Mask) else MASKS[check.choice("mask", value, tuple(MASKS))]
