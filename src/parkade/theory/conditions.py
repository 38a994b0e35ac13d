"""The inequalities of Theorem 5.2, and searches for the values that satisfy them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from parkade.base.types import Array
from parkade.theory.lemmas import g, h

_EPS = (0.05, 0.1, 0.2, 0.4, 0.02, 0.01, 1e-3)  # tried if ε and other values are missing
LEAST, GRID = 1e-300, (3000, 1000)  # the smallest ε tried; how many ε, in equal ratios and steps
_INSIDE = 1e-9  # relative margin inside an open interval, to be safe from rounding


class Condition(NamedTuple):
    """One inequality, left < right (≤ for the last one), and whether it holds.

    Examples
    --------
    >>> import parkade as pk
    >>> first = pk.theory.capture_window(N=100, c=7, eps=0.1, beta=64).conditions[0]
    >>> first.name, first.left, first.right, first.holds
    ('2+2ε < c', 2.2, 7.0, True)
    """

    name: str
    left: float
    right: float
    holds: bool


def conditions(v: dict[str, float]) -> list[Condition]:
    """The conditions of Theorem 5.2, for values of N, c, eps and beta."""
    N, c, eps, beta = v["N"], v["c"], v["eps"], v["beta"]
    root = math.sqrt(beta)
    sides = (
        ("2+2ε < c", 2 + 2 * eps, c),
        ("N·h((c−1−2ε)/√β) < h(ε/√β)", N * h((c - 1 - 2 * eps) / root, beta), h(eps / root, beta)),
        ("−N·g((c−2ε)/√β) < g(ε/√β)", -N * g((c - 2 * eps) / root, beta), g(eps / root, beta)),
    )
    inequalities = [Condition(name, left, right, left < right) for name, left, right in sides]
    angle = c / root
    return [*inequalities, Condition("c/√β ≤ π", angle, math.pi, angle <= math.pi)]


def _fits(v: dict[str, float]) -> bool:
    """Whether values of N, c, eps and beta satisfy the conditions."""
    return all(s.holds for s in conditions(v))


def log_bound(c: float, eps: float, beta: float) -> float:
    """The logarithm of the supremum of N that fit c, ε and β; −inf if none fits."""
    root = math.sqrt(beta)
    y, z, e = (c - 1 - 2 * eps) / root, (c - 2 * eps) / root, eps / root
    if c <= 2 + 2 * eps or c > math.pi * root or math.cos(e) <= beta * math.sin(e) ** 2:
        return -math.inf
    if e == 0:  # it underflows
        return -math.inf

    def log_h(x: float) -> float:
        return math.log(math.sin(x)) - 2 * beta * math.sin(x / 2) ** 2

    def log_g(x: float) -> float:
        return (
            math.log(abs(math.cos(x) - beta * math.sin(x) ** 2)) - 2 * beta * math.sin(x / 2) ** 2
        )

    # g(z) < 0: z > 2β^{-1/2} is beyond the maximum of h, which is below β^{-1/2}.
    return min(log_h(e) - log_h(y), log_g(e) - log_g(z))


def _slack(v: dict[str, float]) -> float:
    """The logarithm of the factor by which N may grow before a condition fails."""
    return log_bound(v["c"], v["eps"], v["beta"]) - math.log(v["N"])


def _edge(good: float, bad: float, fits: Callable[[float], bool]) -> float:
    """The last value from `good` to `bad` that fits, by bisection down to rounding."""
    for _ in range(200):
        middle = (good + bad) / 2
        if middle in (good, bad):
            break
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good


def _stretch(
    grid: Array, slack: Array, i: int, fits: Callable[[float], bool]
) -> tuple[float, float]:
    """The interval of fitting values around grid[i], which fits; its ends by bisection."""
    bad = np.flatnonzero(~(slack > 0))
    below, above = bad[bad < i], bad[bad > i]
    low, high = float(grid[0]), float(grid[-1])
    if below.size:
        low = _edge(float(grid[below[-1] + 1]), float(grid[below[-1]]), fits)
    if above.size:
        high = _edge(float(grid[above[0] - 1]), float(grid[above[0]]), fits)
    return low, high


Solution = tuple[tuple[float, float] | None, float | None]


def _solve_n(v: dict[str, float]) -> Solution:
    log = log_bound(v["c"], v["eps"], v["beta"])
    if log <= math.log(2):
        return None, None
    bound = math.exp(log) if log < 709 else 1e308
    whole = math.ceil(bound) - 1.0  # the inequality is strict
    while whole >= 2 and not _fits({**v, "N": whole}):
        whole = min(whole - 1, math.nextafter(whole, 0))
    return ((2.0, bound), whole) if whole >= 2 else (None, None)


def _solve_c(v: dict[str, float]) -> Solution:
    # For c > 2+2ε both sides that depend on c decrease with c, since for every β the maximum of h
    # is below β^{-1/2} and the minimum of g below 1.82β^{-1/2}: if any c fits, the largest does.
    low, high = 2 + 2 * v["eps"], math.pi * math.sqrt(v["beta"]) * (1 - 1e-15)
    if low >= high or _slack({**v, "c": high}) <= 0:
        return None, None
    c = _edge(high, low, lambda c: _slack({**v, "c": c}) > 0)
    return (c, high), min(c * (1 + _INSIDE), high)


def _solve_beta(v: dict[str, float]) -> Solution:
    # The β that fit may form several intervals, bounded or not: take the last one.
    grid = np.geomspace((v["c"] / math.pi) ** 2 * (1 + 1e-12), 1e12 * v["c"] ** 2, 2000)
    slack = np.array([_slack({**v, "beta": float(b)}) for b in grid])
    good = np.flatnonzero(slack > 0)
    if not good.size:
        return None, None
    low, high = _stretch(grid, slack, good[-1], lambda b: _slack({**v, "beta": b}) > 0)
    return (low, high if good[-1] < len(grid) - 1 else math.inf), min(low * (1 + _INSIDE), high)


def _solve_eps(v: dict[str, float]) -> Solution:
    top = v["c"] / 2 - 1
    if top <= 0:
        return None, None
    ratios, steps = GRID
    grid = np.unique([*np.geomspace(LEAST, top, ratios), *np.linspace(0, top, steps)[1:]])
    slack = np.array([_slack({**v, "eps": float(e)}) for e in grid])
    best = int(np.argmax(slack))
    if slack[best] <= 0:
        return None, None
    limits = _stretch(grid, slack, best, lambda e: _slack({**v, "eps": e}) > 0)
    return limits, float(grid[best])


SOLVE: dict[str, Callable[[dict[str, float]], Solution]] = {
    "N": _solve_n,
    "c": _solve_c,
    "eps": _solve_eps,
    "beta": _solve_beta,
}


def suggest(known: dict[str, float]) -> dict[str, float]:
    """A set of values that fits, if two or more are missing; `known` if none was found."""
    for eps in [known["eps"]] if "eps" in known else _EPS:
        v = _fill({**known, "eps": eps})
        if len(v) == 4 and _fits(v):
            return v
    return known


def _fill(v: dict[str, float]) -> dict[str, float]:
    """`v`, which has ε, with the other missing values filled in where possible."""
    eps = v["eps"]
    if "c" not in v:
        c = 5.5 + 2 * eps
        if "N" in v and "beta" not in v:
            while math.log(v["N"]) >= 3 * (c - 1 - 2 * eps) ** 2 / 8 + math.log(eps / (c - 1)):
                c += 0.5
        elif "N" in v:
            c = _solve_c(v)[1] or c
        else:
            c = min(c, 3.1 * math.sqrt(v.get("beta", math.inf)))
        v["c"] = c
    value: float | None
    if "beta" not in v:
        value = max((v["c"] - 1 - 2 * eps) ** 2 / 2, (v["c"] / 3.1) ** 2)
        if "N" in v:
            value = _solve_beta(v)[1]
        v |= {} if value is None else {"beta": value}
    if "N" not in v:
        value = _solve_n(v)[1]
        v |= {} if value is None else {"N": value}
    return v
