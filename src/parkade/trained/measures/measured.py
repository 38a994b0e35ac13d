"""`Measured`: values over texts, beside what chance alone would give."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.numbers import counted
from parkade.base.types import Array

_EXACT = 14  # texts up to which all signs are tried
_DRAWS = 2**16  # signs drawn for more texts


@dataclass(frozen=True, eq=False)
class Measured:
    """Values of a measure over texts, with its nulls.

    Attributes
    ----------
    name : str
        What was measured, for tables and axes.
    values : (texts, ...) array
        One row for each text; the other axes are those of the measure, such as layers.
    nulls : dict of (texts, ...) arrays
        The same measure where what is tested is absent, by the name of the null.

    Examples
    --------
    >>> from parkade.trained.measures import Measured
    >>> m = Measured("cosine", [[0.5], [0.7]], {"isotropic": [[0.0], [0.0]]})
    >>> m.texts, m.mean.round(3).tolist(), m.null_mean("isotropic").tolist()
    (2, [0.6], [0.0])
    """

    name: str
    values: Array
    nulls: Mapping[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        values = check.array(self.name, self.values)
        if values.ndim == 0 or len(values) == 0:
            raise InputError(f"{self.name} needs a value for each text, got shape {values.shape}")
        object.__setattr__(self, "values", values)
        nulls = {}
        for name, null in self.nulls.items():
            nulls[name] = check.array(f"the null {name} of {self.name}", null)
            if nulls[name].shape != values.shape:
                raise InputError(
                    f"the null {name} of {self.name} must have the shape {values.shape} of the "
                    f"values, got {nulls[name].shape}"
                )
        object.__setattr__(self, "nulls", nulls)

    @property
    def texts(self) -> int:
        """Number of texts that were measured."""
        return len(self.values)

    @property
    def mean(self) -> Array:
        """The mean over texts."""
        return np.asarray(self.values.mean(axis=0))

    def band(self, share: float = 0.8) -> tuple[Array, Array]:
        """The quantiles over texts between which this share of them lies."""
        low, high = np.quantile(self.values, [(1 - share) / 2, (1 + share) / 2], axis=0)
        return low, high

    def null_mean(self, name: str) -> Array:
        """The mean of a null over texts."""
        return np.asarray(self.nulls[name].mean(axis=0))

    def p(self, name: str) -> Array:
        """The probability of such a mean difference from a null, by flips of sign over texts."""
        return np.asarray(sign_flip(self.values - self.nulls[name]))

    def to_dict(self) -> dict[str, Any]:
        """Means, bands, nulls and their probabilities, for JSON."""
        low, high = self.band()
        return {
            "name": self.name,
            "texts": self.texts,
            "mean": self.mean.tolist(),
            "band": [low.tolist(), high.tolist()],
            "nulls": {
                name: {"mean": self.null_mean(name).tolist(), "p": self.p(name).tolist()}
                for name in self.nulls
            },
        }


def least_p(texts: int) -> tuple[float, str]:
    """The smallest probability that `sign_flip` can give for a number of texts, and why, in words.

    Examples
    --------
    >>> from parkade.trained.measures.measured import least_p
    >>> least_p(12)
    (0.00048828125, '2^-11, the smallest possible with 12 texts')
    """
    if texts <= _EXACT:
        power, why = texts - 1, f"the smallest possible with {counted(texts, 'text')}"
    else:
        power, why = 16, f"the smallest of {_DRAWS} random signs"
    return 2.0**-power, f"2^-{power}, {why}"


def sign_flip(differences: ArrayLike) -> Array:
    """Two-sided probability of a mean so far from 0 if each text's sign were a fair coin.

    All signs are tried for up to 14 texts, so the test is exact and its least value is
    2^(1 − texts). For more texts 65536 random signs are drawn, from a fixed seed.

    Parameters
    ----------
    differences : (texts, ...) array

    Returns
    -------
    (...) array of probabilities. They are not corrected for the number of comparisons.

    Examples
    --------
    >>> from parkade.trained.measures import sign_flip
    >>> float(sign_flip([1.0, 1.0, 1.0, 1.0]))
    0.125
    """
    x = check.array("differences", differences)
    texts = len(x)
    if texts <= _EXACT:
        signs = np.array(list(itertools.product((1.0, -1.0), repeat=texts)))
    else:
        signs = np.random.default_rng(0).choice((1.0, -1.0), (_DRAWS, texts))
        signs[0] = 1.0  # what was seen counts, so that no probability is 0
    flipped = np.abs(np.tensordot(signs, x, 1))
    # A margin for rounding: sums in another order are not equal to the bit.
    seen = np.abs(x.sum(axis=0)) - 1e-12 * np.abs(x).sum(axis=0)
    return np.asarray((flipped >= seen).mean(axis=0))
