"""`Schedule`: an inverse temperature that changes with time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.model.model import Storable

FAR = 40.0
"""From this on, e^x − 1 is e^x."""

_FEW = 4  # pieces that `repr` writes out


class Schedule(Storable, kind="schedule"):
    """β(t), piecewise constant: ``beta[i]`` from ``times[i]`` until ``times[i + 1]``.

    The last piece has no end.

    Parameters
    ----------
    times : (m,) array
        When each piece begins: 0, and then increasing.
    beta : (m,) array
        Inverse temperatures β ≥ 0.

    Examples
    --------
    >>> import parkade as pk
    >>> schedule = pk.Schedule([0, 100], [16, 64])
    >>> schedule(99.0), schedule(100.0)
    (16.0, 64.0)
    """

    def __init__(self, times: ArrayLike, beta: ArrayLike) -> None:
        self.times = piece_starts(times)
        self.beta = check.array("beta", beta)
        if self.beta.shape != self.times.shape:
            raise InputError(
                f"beta must be one number for each of the {len(self.times)} times, got shape "
                f"{self.beta.shape}"
            )
        for value in self.beta:
            check.beta(value)
        self.beta.flags.writeable = False

    @classmethod
    def of(
        cls,
        function: Callable[[float], float],
        t_end: float,
        per_decade: int = 20,
        *,
        first: float = 1.0,
    ) -> Schedule:
        """A schedule that follows a function β(t) up to `t_end`.

        The pieces are uniform in log(first + t): equally long while t is much smaller than
        `first`, and about `per_decade` in each decade of time when it is much larger. Each has
        the value in its middle, so the error of a run falls like per_decade⁻².

        Parameters
        ----------
        function : function of t
            β at a time t > 0; a number ≥ 0.
        t_end : float
        per_decade : int
        first : float
            Choose it no larger than the time in which β changes at the start.

        Examples
        --------
        >>> import math
        >>> import parkade as pk
        >>> schedule = pk.Schedule.of(lambda t: 4 * math.log1p(t), 1e6)
        >>> schedule
        Schedule(120 pieces, beta 0.23…55, last from t=8.91e+05)
        """
        if not callable(function):
            raise InputError(
                f"function must be a function of t, got {check.brief(function)}; "
                "pk.Schedule(times, beta) takes numbers"
            )
        end, unit = check.final_time(t_end), check.positive("first", first)
        each = check.positive_int("per_decade", per_decade)
        count, whole = division(end, unit, each)
        check.fits_in_memory(1000.0 * count, f"a schedule of {count} pieces", "use fewer")
        places = np.arange(2 * count) / (2 * count) * whole  # starts and middles
        early = unit * np.expm1(np.minimum(places, FAR))
        times = np.where(places < FAR, early, np.exp(places + math.log(unit)))
        values = [check.number(f"function({t:g})", function(float(t))) for t in times[1::2]]
        return cls(times[::2], values)

    def __call__(self, t: ArrayLike) -> Any:
        """β at a time, or at each of an array of times."""
        when = check.array("t", t)
        if (when < 0).any():
            raise InputError(f"t must be ≥ 0, got {when.min():g}")
        beta = self.beta[np.searchsorted(self.times, when, side="right") - 1]
        return beta if when.ndim else float(beta)

    def __len__(self) -> int:
        return len(self.times)

    def __repr__(self) -> str:
        if len(self) <= _FEW:
            listed = (", ".join(f"{x:g}" for x in values) for values in (self.times, self.beta))
            return "Schedule([{}], [{}])".format(*listed)
        return (
            f"Schedule({len(self)} pieces, beta {self.beta.min():.3g}…{self.beta.max():.3g}, "
            f"last from t={self.times[-1]:.3g})"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schedule) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]  # it contains arrays

    def data(self) -> dict[str, Any]:
        """The times, and β from each on."""
        return {"times": self.times, "beta": self.beta}


def division(end: float, unit: float, each: int) -> tuple[int, float]:
    """The number of pieces up to a time, and log(1 + end/unit); pages compile it, too."""
    ratio = end / unit  # may be infinite
    whole = math.log1p(ratio) if ratio < 1e300 else math.log(end) - math.log(unit)
    return max(1, round(whole / math.log(10) * each)), whole


def piece_starts(times: ArrayLike) -> Array:
    """Start times of pieces, checked: 0, and then increasing. The array is read-only."""
    t = check.array("times", times)
    if t.ndim != 1 or t.size == 0:
        raise InputError(f"times must be a non-empty 1-D array, got shape {t.shape}")
    if t[0] != 0:
        raise InputError(f"times must begin with 0, got {t[0]:g}; add the piece before it")
    # Shorter pieces would end before the shortest step.
    short = np.flatnonzero(~(np.diff(t) >= check.TIMES[0]))
    if short.size:
        i = int(short[0]) + 1
        raise InputError(
            f"times must increase, but number {i} is {t[i]:g} after {t[i - 1]:g}; sort them and "
            "remove duplicates"
        )
    t.flags.writeable = False
    return t
