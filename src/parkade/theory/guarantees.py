"""What the paper guarantees on the circle: how long centres stay, and when they capture all tokens.

The first is its Lemma 5.1, the second its Theorem 5.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.model.sphere import distance
from parkade.theory.conditions import SOLVE, Condition, conditions, suggest
from parkade.theory.lemmas import h_max
from parkade.theory.ranges import HUGE, positive

SENTENCES = {
    "never": "Theorem 5.2 does not apply with {asked} for any {missing}.",
    "unknown": "No {missing} were found with which Theorem 5.2 applies with {asked}.",
    "fits": "Theorem 5.2 applies with {found}.",
    "range": (
        "Theorem 5.2 applies with {found}: {missing} may be between {low:.6g} and {high:.6g}."
    ),
    "fails": "Theorem 5.2 does not apply with {found}: it needs {needed}.",
    "value": "{name}={value:.6g}",
}
"""Sentences about Theorem 5.2, which pages fill in as well."""

_RANGES = {"N": (0.0, HUGE), "c": (1e-50, 1e50), "eps": (1e-50, 1e6), "beta": (1e-100, 1e100)}


class StrongCenters(NamedTuple):
    """What Lemma 5.1 guarantees for each token; NaN where it guarantees nothing.

    Attributes
    ----------
    distance : (n,) array
        The distance to the nearest earlier token; inf for the first.
    c : (n,) array
        Separation in units of β^{-1/2}, without the margin 1+2ε.
    radius : (n,) array
        The token moves by less than this angle …
    time : (n,) array
        … before this time; inf for the first, which never moves.

    Examples
    --------
    >>> import parkade as pk
    >>> x0 = pk.sphere.from_angles([0.0, 2.0, 0.1])
    >>> promised = pk.theory.strong_center_guarantee(x0, beta=64.0, eps=0.1)
    >>> [f"{time:.3g}" for time in promised.time]
    ['inf', '2.39e+29', 'nan']
    """

    distance: Array
    c: Array
    radius: Array
    time: Array


def strong_center_guarantee(tokens: ArrayLike, beta: float, eps: float) -> StrongCenters:
    """How long each token is guaranteed to stay near its start (Lemma 5.1).

    On the circle with Q = K = V = I: if the s-th token (s = 1, 2, …) starts farther than
    c(1+2ε)β^{-1/2} from all earlier ones, and c is larger than `lemmas.smallest_c`, then it moves
    less than εcβ^{-1/2} before the time T = εcβ^{-1/2} / (s·h(cβ^{-1/2})). Of the c that this
    allows, up to distance·√β/(1+2ε), the largest is used: it gives the longest time (x/h(x)
    increases) and the largest radius.

    Parameters
    ----------
    tokens : (n, 2) array
        Unit vectors, in sequence order.
    beta : float
    eps : float
        ε > 0: the radius in units of cβ^{-1/2}.

    Returns
    -------
    StrongCenters
        Arrays `distance`, `c`, `radius` and `time`, one entry per token.

    Examples
    --------
    >>> import parkade as pk
    >>> stay = pk.theory.strong_center_guarantee(pk.sphere.from_angles([0, 1, 1.1]), 64.0, 0.1)
    >>> stay.c.round(3).tolist(), stay.radius.round(3).tolist()
    ([inf, 6.667, nan], [0.0, 0.083, nan])
    >>> f"{stay.time[1]:.3g}"
    '7.17e+07'
    """
    x = check.tokens(tokens, d=2)
    beta, eps = positive("beta", beta), positive("eps", eps)
    nearest = np.array([np.inf, *(distance(x[:k], x[k]).min() for k in range(1, len(x)))])
    angle = nearest / (1 + 2 * eps)
    angle[angle <= h_max(beta).at] = np.nan
    radius = eps * angle
    time = np.full(len(x), np.inf)
    order = np.arange(2, len(x) + 1)
    with np.errstate(over="ignore", divide="ignore"):
        # In logarithms: the pull may underflow where the time does not overflow.
        log_h = np.log(np.sin(angle[1:])) - 2 * beta * np.sin(angle[1:] / 2) ** 2
        time[1:] = np.exp(np.log(radius[1:]) - np.log(order) - log_h)
    radius[0] = 0.0
    return StrongCenters(nearest, math.sqrt(beta) * angle, radius, time)


@dataclass(frozen=True)
class CaptureWindow:
    """What Theorem 5.2 says about N, c, ε and β.

    Attributes
    ----------
    holds : bool or None
        Whether the theorem applies; None if some values were missing.
    N, c, eps, beta : float or None
        The arguments, or values chosen so that all conditions hold; None if there is no choice.
    solved : tuple of str
        The names of the missing values that could be chosen.
    limits : tuple of two floats, or None
        If one value was missing: the open interval in which it satisfies the conditions.
    conditions : list of Condition
        Both sides of each inequality at these values; empty if some are missing.
    sentence : str

    Examples
    --------
    >>> import parkade as pk
    >>> window = pk.theory.capture_window(N=100, eps=0.1, beta=64)
    >>> window.solved, round(window.c, 2), all(c.holds for c in window.conditions)
    (('c',), 5.32, True)
    """

    holds: bool | None
    N: float | None
    c: float | None
    eps: float | None
    beta: float | None
    solved: tuple[str, ...]
    limits: tuple[float, float] | None
    conditions: list[Condition]
    sentence: str


def capture_window(
    *,
    N: float | None = None,
    c: float | None = None,
    eps: float | None = None,
    beta: float | None = None,
) -> CaptureWindow:
    """Whether frozen centres capture all tokens, or which values are needed (Theorem 5.2).

    On the circle with Q = K = V = I, freeze tokens θ_j that are pairwise farther than cβ^{-1/2}
    apart and enter every sum with weight a_j ≥ 1. Let N = n + Σ a_j with n free tokens. If ::

        c > 2+2ε,  N·h((c−1−2ε)β^{-1/2}) < h(εβ^{-1/2}),  −N·g((c−2ε)β^{-1/2}) < g(εβ^{-1/2}),

    then almost surely every free token converges to within εβ^{-1/2} of some θ_j (Karagodin,
    Polyanskiy, Rigollet 2024; the paper prints the last inequality without its minus sign).
    The theorem implies that cβ^{-1/2} is an angle, at most π.

    Parameters
    ----------
    N, c, eps, beta : float, optional
        The known values. With all four, check the conditions. With one missing, find its range
        and choose the largest whole N, the smallest c, the smallest β of the last interval, or
        the ε with the largest margin. With more missing, suggest a valid set: ε = 0.05 (or others
        if that fails), then c from the paper's sufficient set (c ≥ 5.5+2ε,
        β ≥ (c−1−2ε)²/2, N < e^{3(c−1−2ε)²/8}·ε/(c−1)) or the nearest one that β allows, then
        the rest.

    Returns
    -------
    CaptureWindow

    Examples
    --------
    >>> import parkade as pk
    >>> pk.theory.capture_window(N=250, c=4, eps=0.1, beta=64).holds
    False
    >>> window = pk.theory.capture_window(N=250, eps=0.1, beta=64)
    >>> round(window.c, 3), len(window.conditions)
    (5.555, 4)
    """
    values = {"N": N, "c": c, "eps": eps, "beta": beta}
    known = {k: positive(k, v, *_RANGES[k]) for k, v in values.items() if v is not None}
    if "N" in known and known["N"] < 2:
        raise InputError(
            "N must be at least 2, one free token and one frozen token of weight 1, got "
            f"{known['N']:g}"
        )
    missing = [k for k in values if k not in known]
    limits = None
    if len(missing) == 1:
        limits, value = SOLVE[missing[0]](known)
        if value is not None:
            known[missing[0]] = value
    elif missing:
        known = suggest(known)
    if len(known) < 4:
        asked = _listed({k: v for k, v in values.items() if v is not None})
        name = "never" if len(missing) == 1 else "unknown"
        sentence = SENTENCES[name].format(asked=asked, missing=", ".join(missing))
        return CaptureWindow(None, N, c, eps, beta, (), None, [], sentence)
    sides = conditions(known)
    failed = [s.name for s in sides if not s.holds]
    name = "fails" if failed else "fits" if limits is None else "range"
    low, high = limits or (0.0, 0.0)
    sentence = SENTENCES[name].format(
        found=_listed({k: known[k] for k in values}),
        needed=" and ".join(failed),
        missing=", ".join(missing),
        low=low,
        high=high,
    )
    return CaptureWindow(
        holds=None if missing else not failed,
        **known,
        solved=tuple(missing),
        limits=limits,
        conditions=sides,
        sentence=sentence,
    )


def _listed(values: dict[str, float]) -> str:
    """Values with their names, as a list in a sentence."""
    return ", ".join(SENTENCES["value"].format(name=k, value=v) for k, v in values.items())
