"""Control of clusters: the β(t) that leaves a given number of them at a given depth."""

from __future__ import annotations

import math
from functools import cache
from typing import Literal

import numpy as np

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.model import sphere
from parkade.model.schedule import Schedule
from parkade.theory.cars import growing_cars
from parkade.theory.meeting import log_meeting_time

Shape = Literal["constant", "logarithmic"]

_DRAWS = 100  # random starts
_MOST = 1e6  # the largest β tried


def schedule(
    clusters: float,
    depth: float,
    *,
    shape: Shape = "constant",
    n: int = 200,
    d: int = 2,
) -> Schedule:
    """The inverse temperature β(t) that leaves a number of clusters at a depth, on average.

    Parameters
    ----------
    clusters : float
        The desired mean number, from 1.2 to n/5.
    depth : float
        The time T at which this is the number, ≥ 100.
    shape : {"constant", "logarithmic"}
        "constant": one β; the number continues to decrease after T. "logarithmic":
        β(t) = β₀ + b ln(1 + t) with the smallest b for which the number stops decreasing.
    n, d : int
        Number and dimension of the tokens, which start uniformly; Q = K = V = I.

    Returns
    -------
    Schedule
        For ``simulate(model, x0, T, schedule=...)``.

    Notes
    -----
    δ is the length at which `clusters` growing cars are left on average (`growing_cars`; 100
    random starts). A leader at the distance δ from its partner, whose cluster has m = n/2k tokens
    before it, must take the time T: T(δ, m) = T if β is constant (`log_meeting_time`). If β
    varies slowly, it arrives when ::

        m sin²δ ∫₀^T β(t) e^{−β(t)(1 − cos δ)} dt = 1.

    With β = β₀ + b ln(1 + t) the integrand is a power of t, −b(1 − cos δ). If it is below −1, the
    integral converges, and leaders that far apart never meet; if it is above, all of them meet
    eventually. So b = 1/(1 − cos δ) freezes the number at k. For b < 1/2 one cluster is left.

    Examples
    --------
    >>> import parkade as pk
    >>> plan = pk.theory.schedule(clusters=5, depth=1e6)
    >>> plan.beta.round().tolist()
    [80.0]
    """
    k = check.number("clusters", clusters)
    size, dimension = check.positive_int("n", n), check.dimension(d)
    if not 1.2 <= k <= size / 5:
        raise InputError(
            f"clusters must be from 1.2 to n/5 = {size / 5:g}, got {k:g}; choose another n"
        )
    end = check.number("depth", depth)
    if not 100 <= end <= 1e300:
        raise InputError(
            f"depth must be from 100 to 1e300, got {end:g}; clusters form by t = 10 only"
        )
    if shape not in ("constant", "logarithmic"):
        raise InputError(f"shape must be 'constant' or 'logarithmic', got {check.brief(shape)}")
    delta = _length(k, size, dimension)
    mass = max(1.0, size / (2 * k))
    if shape == "constant":
        return Schedule([0.0], [_constant(delta, mass, end)])
    lift = 1 - math.cos(delta)
    beta = _logarithmic(delta, mass, end)
    return Schedule.of(lambda t: beta + math.log1p(t) / lift, end, per_decade=10)


def _constant(delta: float, mass: float, end: float) -> float:
    """The β for which the meeting time T(δ, m) is `end`."""
    from scipy.optimize import brentq

    def gap(beta: float) -> float:
        return float(log_meeting_time(delta, beta, mass)) - math.log(end)

    return float(brentq(gap, 0.5, _MOST))


def _logarithmic(delta: float, mass: float, end: float) -> float:
    """The β₀ for which a leader arrives at `end` if β = β₀ + ln(1 + t)/(1 − cos δ)."""
    from scipy.optimize import brentq

    lift = 1 - math.cos(delta)
    decades = math.log1p(end)

    def gap(beta: float) -> float:
        # ∫ β(t)/(1 + t) dt, in s = ln(1 + t)
        whole = beta * decades + decades**2 / (2 * lift)
        return math.log(mass * math.sin(delta) ** 2 * whole) - beta * lift

    return float(brentq(gap, 0.5, _MOST))


@cache
def _cars(n: int, d: int) -> Array:
    """The lengths of all growing cars of some random starts, increasing."""
    rng = np.random.default_rng(0)
    return np.sort([growing_cars(sphere.uniform(n, d, rng)) for _ in range(_DRAWS)], axis=None)


def _length(clusters: float, n: int, d: int) -> float:
    """The length at which this number of cars is left on average."""
    lengths = _cars(n, d)
    left = round(clusters * _DRAWS)
    return float(min(lengths[len(lengths) - left], math.pi - 0.01))
