"""Masks: which tokens a token attends to."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from parkade.base import check
from parkade.base.errors import InputError


class Mask(ABC):
    """Which tokens a token attends to.

    A mask equals its name, so that ``model.mask == "causal"`` works.

    Attributes
    ----------
    name : str
        Its name in arguments and files: "causal", or "window(16)" with a number.
    triangular : bool
        Whether no token attends to a later one.
    """

    kind: ClassVar[str]
    triangular: bool

    @property
    def name(self) -> str:
        """Its name in arguments and files."""
        return self.kind

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
    """A token attends to itself and to earlier tokens: N(k) = {j ≤ k}.

    Examples
    --------
    >>> import parkade as pk
    >>> pk.Causal().sees(3).astype(int).tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    >>> pk.Attention(d=2, mask="causal").mask == pk.Causal()
    True
    """

    kind = "causal"
    triangular = True

    def sees(self, n: int) -> NDArray[np.bool_]:
        """All True in the lower triangle."""
        return np.tri(n, dtype=np.bool_)


class Full(Mask):
    """Every token attends to all tokens.

    Examples
    --------
    >>> import parkade as pk
    >>> pk.Full().sees(2).astype(int).tolist()
    [[1, 1], [1, 1]]
    >>> pk.Attention(d=2, mask=pk.Full()).triangular
    False
    """

    kind = "full"
    triangular = False

    def sees(self, n: int) -> NDArray[np.bool_]:
        """All entries are True."""
        return np.ones((n, n), dtype=np.bool_)


class _Numbered(Mask):
    """A mask with a number."""

    def __init__(self, number: int) -> None:
        self.number = check.positive_int(f"the number of a {self.kind} mask", number)

    @property
    def name(self) -> str:
        """The kind with the number: "window(16)"."""
        return f"{self.kind}({self.number})"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.number})"


class Window(_Numbered):
    """A token attends to the last w tokens, itself included: N(k) = {k − w < j ≤ k}.

    Examples
    --------
    >>> import parkade as pk
    >>> pk.Window(2).sees(4).astype(int).tolist()
    [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]
    """

    kind = "window"
    triangular = True

    def sees(self, n: int) -> NDArray[np.bool_]:
        """True in a band below the diagonal."""
        return np.tri(n, dtype=np.bool_) & ~np.tri(n, k=-self.number, dtype=np.bool_)


class Prefix(_Numbered):
    """The first m tokens attend to each other, later tokens to themselves and to earlier ones.

    Examples
    --------
    >>> import parkade as pk
    >>> pk.Prefix(2).sees(4).astype(int).tolist()
    [[1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
    """

    kind = "prefix"

    @property
    def triangular(self) -> bool:  # type: ignore[override]
        """Whether the prefix is a single token."""
        return self.number == 1

    def sees(self, n: int) -> NDArray[np.bool_]:
        """True in the lower triangle, and in the square of the prefix."""
        first = np.arange(n) < self.number
        return np.tri(n, dtype=np.bool_) | (first[:, None] & first)


MASKS: dict[str, Mask] = {mask.name: mask for mask in (Causal(), Full())}
"""Masks without a number, by name."""

_NUMBERED = {mask.kind: mask for mask in (Window, Prefix)}
_NAME = re.compile(r"(\w+)\((\d{1,18})\)")


def read(value: Any) -> Mask:
    """A mask from an object or from its name."""
    if isinstance(value, Mask):
        return value
    if isinstance(value, str) and value in MASKS:
        return MASKS[value]
    match = _NAME.fullmatch(value) if isinstance(value, str) else None
    if match is None or match[1] not in _NUMBERED:
        raise InputError(
            "mask must be one of 'causal', 'full', 'window(16)' or 'prefix(16)' with any number, "
            f"or a mask such as pk.Window(16), got {check.brief(value)}"
        )
    return _NUMBERED[match[1]](int(match[2]))
