"""Functions in Lemma 5.1 and Theorem 5.2: the pull h between two tokens, and its slope g.

On the circle with Q = K = V = I, a token at the angle x from another is pulled to it with

    h(x) = e^{β(cos x − 1)} sin x,    g(x) = h′(x) = e^{β(cos x − 1)} (cos x − β sin²x).

The pull grows up to about β^{-1/2} and then decays like a Gaussian: distant tokens hardly
interact (Karagodin, Polyanskiy, Rigollet 2024, section 5).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from parkade.base import check
from parkade.base.errors import InputError
from parkade.theory.ranges import like, non_negative, positive

__all__ = ["Extreme", "g", "g_min", "h", "h_max", "simple_time", "smallest_c"]


class Extreme(NamedTuple):
    """The location of a maximum or minimum, and the value there.

    Examples
    --------
    >>> import parkade as pk
    >>> pull = pk.theory.lemmas.h_max(64.0)
    >>> round(pull.at, 4), round(pull.value, 4)
    (0.1248, 0.0757)
    """

    at: float
    value: float


def h(x: ArrayLike, beta: float) -> Any:
    """The pull h(x) = e^{β(cos x − 1)} sin x between tokens at the angle `x`.

    Examples
    --------
    >>> import parkade as pk
    >>> round(pk.theory.lemmas.h(0.5, 64.0), 6)
    0.00019
    """
    angle, beta = check.array("x", x), non_negative("beta", beta)
    # 1 − cos x = 2 sin²(x/2): no cancellation at small angles.
    return like(x, np.exp(-2 * beta * np.sin(angle / 2) ** 2) * np.sin(angle))


def g(x: ArrayLike, beta: float) -> Any:
    """The slope of the pull, g(x) = h′(x) = e^{β(cos x − 1)} (cos x − β sin²x).

    Examples
    --------
    >>> import parkade as pk
    >>> pk.theory.lemmas.g(0.0, 64.0)
    1.0
    """
    angle, beta = check.array("x", x), non_negative("beta", beta)
    shape = np.cos(angle) - beta * np.sin(angle) ** 2
    return like(x, np.exp(-2 * beta * np.sin(angle / 2) ** 2) * shape)


def h_max(beta: float) -> Extreme:
    """The maximum of the pull on [0, π]: β sin²x = cos x, so cos x = (√(4β²+1) − 1)/(2β).

    By symmetry |h| has the same maximum on [−π, π].

    Examples
    --------
    >>> import parkade as pk
    >>> at, value = pk.theory.lemmas.h_max(64.0)
    >>> round(at * 64**0.5, 4), round(value * 64**0.5, 4)  # nearly 1 and e^{-1/2}
    (0.9987, 0.6053)
    """
    beta = non_negative("beta", beta)
    root = math.hypot(1, 2 * beta)
    # 1 − cos x and 1 + cos x, both times root + 1, without subtracting large numbers.
    at = _angle(1 + 1 / (root + 2 * beta), 1 + root + 2 * beta)
    return Extreme(at, float(h(at, beta)))


def g_min(beta: float) -> Extreme:
    """The minimum of the slope of the pull on [0, π]: cos x = (√(4β²+5) − 3)/(2β).

    For β ≤ 1/3 there is no such x, and the minimum is at π. The maximum is always g(0) = 1.

    Examples
    --------
    >>> import parkade as pk
    >>> at, value = pk.theory.lemmas.g_min(64.0)
    >>> round(at * 64**0.5, 4), round(value, 4)  # nearly √3 and −2e^{-3/2}
    (1.7298, -0.4437)
    """
    beta = non_negative("beta", beta)
    if beta <= 1 / 3:
        return Extreme(math.pi, float(g(math.pi, beta)))
    root = math.hypot(math.sqrt(5), 2 * beta)
    less = 3 - 5 / (root + 2 * beta)
    more = (12 * beta - 4) / (root + 3 - 2 * beta) if beta < 1.5 else root + 2 * beta - 3
    at = _angle(less, more)
    return Extreme(at, float(g(at, beta)))


def smallest_c(beta: float) -> float:
    """The separation beyond which Lemma 5.1 applies, in units of β^{-1/2}.

    It is √β·arccos((−1+√(4β²+1))/(2β)), where the pull is largest. It is below 1 for every β
    and approaches 1 as β grows.

    Examples
    --------
    >>> import parkade as pk
    >>> round(pk.theory.lemmas.smallest_c(64.0), 6), pk.theory.lemmas.smallest_c(1e300)
    (0.998693, 1.0)
    """
    beta = positive("beta", beta)
    return math.sqrt(beta) * h_max(beta).at


def simple_time(c: float, beta: float, eps: float, s: int) -> float:
    """The simple lower bound for Lemma 5.1's time: ε e^{c²/2 − c⁴/(24β)}/s.

    It follows from 1 − cos x ≥ x²/2 − x⁴/24 and sin x ≤ x, so it holds for every angle
    x = cβ^{-1/2} below π. It is tight for c⁴ ≪ 24β, poor for larger c, and decreases in c for
    c > √(6β).

    Examples
    --------
    >>> import parkade as pk
    >>> round(pk.theory.lemmas.simple_time(4.0, 64.0, 0.1, s=2))
    126
    """
    c, beta = positive("c", c), positive("beta", beta)
    eps, s = positive("eps", eps), check.positive_int("s", s)
    if c >= math.pi * math.sqrt(beta):
        raise InputError(
            f"c·β^(-1/2) must be an angle below π, got {c / math.sqrt(beta):g}; lower c or raise "
            "beta"
        )
    exponent = c * c * (0.5 - (c / math.sqrt(beta)) ** 2 / 24)  # c⁴ may overflow
    return eps / s * math.exp(exponent) if exponent < 709 else math.inf


def __dir__() -> list[str]:
    return __all__


def _angle(less: float, more: float) -> float:
    """The angle x in [0, π] for which 1 − cos x : 1 + cos x = less : more."""
    return 2 * math.atan2(math.sqrt(less), math.sqrt(more))
