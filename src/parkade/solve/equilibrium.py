"""Starts on an unstable equilibrium, where rounding decides when and how tokens leave it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from parkade.base.types import Array
from parkade.engine.steps.trust import ROUNDING
from parkade.model.flow import Flow
from parkade.solve.naive.explicit import Naive
from parkade.solve.naive.implicit import NaiveImplicit
from parkade.solve.options import Problem

_MOST = 256  # entries of tokens at rest that are examined; the whole Jacobian has its square
_PUSH = 1e-6  # size of a displacement that tests whether velocities change
_SLOWEST = 1e-6  # smaller growth rates, in units of the rate of the model, are not measurable


def unstable_until(problems: Sequence[Problem], x0: Array, resting: int) -> float:
    """The time when rounding errors exceed tol, for starts on an unstable equilibrium; or infinity.

    The first `resting` tokens of a run of one or several models start at rest. Errors
    grow even where all steps leave the tokens in place, because forces happen to be rounded to 0.
    But tokens on a coordinate axis stay there exactly, if they feel no force: nothing is rounded.
    """
    start = x0[:resting]
    if resting < len(x0) and any(isinstance(problem.model, Flow) for problem in problems):
        return math.inf  # the function of a flow may expect all tokens
    if start.size and all(problem.model.triangular for problem in problems):
        start = start[: _MOST // start.shape[1]]
    if not 0 < start.size <= _MOST:
        return math.inf
    remaining = math.log(max(problems[0].options.tol / ROUNDING, 1.0))  # e-foldings
    for problem in problems:
        rate = growth_rate(problem, start)
        duration = problem.options.t_end
        if rate * duration > remaining:
            return problem.start + remaining / rate
        if rate == 0.0:
            break
        remaining -= rate * duration
    return math.inf


def growth_rate(problem: Problem, start: Array) -> float:
    """The growth rate of errors of tokens at rest; 0 if it is too small to be measured."""
    model, slowest = problem.model, _SLOWEST * problem.model.rate
    run = Naive(problem, start)
    velocity = run.velocity(0.0, start)
    push = _PUSH * np.resize([1.0, 1.0, -1.0, 1.0, -1.0], start.shape)  # in no special direction
    change = run.velocity(0.0, run.retract(start + push)) - velocity
    if np.abs(change).max() <= _PUSH * slowest:
        return 0.0
    rates = NaiveImplicit(problem, start).rates()
    axes = np.count_nonzero(start[:, : model.d], axis=1) == 1
    exact = axes & ~velocity[:, : model.d].any(axis=1)
    rates = rates[~exact] if len(rates) == len(start) else rates[: int(not exact.all())]
    fastest = float(rates.max(initial=0.0))
    return fastest if fastest > slowest else 0.0
