"""Detect runs that are too slow to finish.

Some motions never settle: tokens circle each other forever, and each turn takes steps. Such a
run is stopped early with an error message, instead of running for days.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from parkade.base.constants import SNAP
from parkade.base.types import Array
from parkade.solve.planning.rules import step_seconds

if TYPE_CHECKING:
    from parkade.solve.options import Problem
    from parkade.solve.planning.plan import Plan

SECONDS = 2.0
"""No run is stopped before it has taken this many seconds of steps."""

SLOW = 20.0
"""After this many seconds of steps, fewer of them are enough to judge."""

FEW = {"explicit": (2000, 1000), "implicit": (30000, 4000), "splitting": (2000, 1000)}
"""Steps before a run is judged, at tol = 1e-6: normally, and if it is slow.

Explicit steps soon reach their final size. Implicit runs may be waiting for a merge or for the last
token to settle.
"""

MANY = 1e6
"""A run that needs fewer steps is not stopped."""

LONG = 60.0
"""A run that needs fewer seconds is not stopped."""

STEADY = 4.0
"""A run whose time grows by this factor while its steps double is not stuck."""

EVERY = 256
"""Steps between two checks of the pace, if these steps take no longer than `LOOK` seconds."""

LOOK = 1.0
"""The most seconds between two checks of the pace, unless a single step takes longer."""

ANGLE = {"explicit": 1.0, "implicit": 0.25, "splitting": math.inf}
"""The largest angle of a step at tol = 1e-6, if V rotates the tokens forever.

If even steps of this size would be too many, `FEWEST` steps are enough to judge.
"""

FEWEST = 64
"""Steps before a run is judged, if its tokens rotate forever and need too many steps."""

TOO_SLOW = (
    "the run is too slow to reach t={until}: after {steps} steps it is at t={t}, and the rest "
    "would take {left} steps, {duration}"
)
"""The message about a run that is stopped; advice on what to do follows it."""


class Effort(NamedTuple):
    """The estimated cost of a run, as far as it follows from the plan."""

    seconds: float  # of a step on one core, approximately
    fewest: float = 0.0  # a lower bound on the number of steps
    V: Array | None = None  # the matrix that moves the tokens, if there is only one
    turning: float = 0.0  # the rate at which tokens certainly rotate forever, or 0


def foresee(plan: Plan, problem: Problem, n: int) -> Effort:
    """Estimate the cost of a run of n tokens, with the same result on every machine."""
    model, velocity = problem.model, plan.sums.seconds
    unknowns, cells, fewest = n * (model.d - 1), 0, 0.0
    naive = plan.kernel == "naive"
    coupled = unknowns if naive or not model.triangular else 0
    if plan.method == "splitting":
        from parkade.solve.lowering.brownian import longest_step, most_cells

        for piece in plan.pieces or (problem,):
            fewest += piece.options.t_end / longest_step(piece.model, piece.options.tol)
            cells = max(cells, most_cells(piece.model, piece.options.tol))
    seconds = step_seconds(velocity, plan.method == "implicit", coupled, cells * n * model.d)
    if plan.method == "implicit" and naive:  # a Jacobian of finite differences
        seconds += unknowns * velocity
    V = None if naive or plan.pieces else plan.frame.V
    return Effort(seconds, fewest, V, _turning(plan, problem))


def slowness(plan: Plan, problem: Problem, n: int, seconds: float) -> str:
    """A sentence that says that each step takes many seconds, and what to do about that."""
    model = problem.model
    whole = plan.method == "implicit" and (plan.kernel == "naive" or not model.triangular)
    remedy = "fewer tokens make it faster"
    if whole:
        remedy = (
            f"the implicit method couples all n·(d−1)={n * (model.d - 1)} coordinates, so "
            "method='explicit' or fewer tokens make it faster"
        )
    return f"each step takes about {seconds:.0f} s on one core; {remedy}"


def _turning(plan: Plan, problem: Problem) -> float:
    """The rate at which V certainly rotates tokens forever in the frame of a plan, or 0.

    Under the causal mask the first token rotates, except on an exact equilibrium. Frozen
    tokens may stop it, and so may other parts of a model.
    """
    alone = plan.kernel == "head" and not plan.pieces and not len(problem.fixed.tokens)
    return plan.frame.turning if alone else 0.0


class Pace:
    """Decides from the steps of a run whether it would take too many.

    The time of a step is estimated and not measured, so that neither the machine nor its load
    decides which runs finish.
    """

    def __init__(
        self, method: str, t_end: float, tol: float, effort: Effort, max_steps: int | None = None
    ) -> None:
        self._t_end = t_end
        self._max_steps = max_steps
        self._effort = effort
        strict = (1e-6 / tol) ** 0.25
        few, fewer = (count * max(1.0, strict) for count in FEW[method])
        self._few = max(SECONDS / effort.seconds, fewer, min(few, SLOW / effort.seconds))
        self._many = max(MANY, LONG / effort.seconds)
        self._every = max(1, int(min(EVERY, LOOK / effort.seconds)))
        if effort.turning * t_end * strict > ANGLE[method] * self._many:
            self._few = min(self._few, max(SECONDS / effort.seconds, FEWEST))
        self.begin(0, (0.0, t_end))

    def begin(self, steps: int, span: tuple[float, float]) -> None:
        """Start again after `steps` steps, because another model moves the tokens during `span`."""
        self._steps, (self._start, self._until) = steps, span
        self._looks = 0
        self._marks: list[tuple[int, float]] = []  # steps, t
        self._half = 0  # index of the last mark within the first half of the steps

    def room(self, steps: int) -> float:
        """The number of steps until the next check, which always comes after the same steps."""
        look = self._every - (steps - self._steps) % self._every
        return look if self._max_steps is None else min(look, self._max_steps - steps)

    def judge(self, steps: int, t: float) -> str:
        """Why the run should stop after `steps` steps, at time `t`; empty if it should not."""
        if t >= self._t_end:
            return ""
        if self._max_steps is not None:
            reached = f"the run reached max_steps={self._max_steps} at t={t:.3g}"
            remedy = "increase max_steps, or use partial=True to get the run so far"
            return f"{reached}; {remedy}" if steps >= self._max_steps else ""
        least = self._effort.fewest * (1.0 - t / self._t_end)
        if least > self._many:
            return self._sentence(steps, t, self._t_end, least) + (
                "noise does not allow longer steps, so use a smaller t_end, a larger kappa or tol, "
                "partial=True to get the run so far, or max_steps to allow more steps"
            )
        looks = (steps - self._steps) // self._every
        if t >= self._until or looks == self._looks:
            return ""
        self._looks = looks
        return self._extrapolate(steps - self._steps, t - self._start)

    def _extrapolate(self, steps: int, t: float) -> str:
        """Why the present model should stop, after its own steps and its own time; or empty."""
        self._marks.append((steps, t))
        if steps < self._few:
            return ""
        while self._half + 1 < len(self._marks) and 2 * self._marks[self._half + 1][0] <= steps:
            self._half += 1
        before, since = self._marks[self._half]
        left = _steps_left(before, since, steps, t, self._until - self._start)
        if left < self._many:
            return ""
        return self._sentence(self._steps + steps, self._start + t, self._until, left) + (
            f"{_unrest(self._effort.V)}, so use a smaller t_end, partial=True to get the run so "
            "far, or max_steps to allow more steps"
        )

    def _sentence(self, steps: int, t: float, until: float, left: float) -> str:
        numbers = {"until": f"{until:g}", "steps": steps, "t": f"{t:.3g}"}
        duration = _duration(left * self._effort.seconds)
        return TOO_SLOW.format(**numbers, left=_about(left), duration=duration) + "; "


def _unrest(V: Array | None) -> str:
    """Why tokens may move forever, as far as V shows it."""
    unknown = "the tokens may never come to rest"
    if V is None:
        return unknown
    from parkade.model.spectrum import spectrum

    leading = spectrum(V, SNAP).groups
    turning = max(abs(group.value.imag) for group in leading)
    turns = turning > 1e-15 * float(abs(V).max())
    real, error = leading[0].value.real, leading[0].tolerance
    value = f"{real if abs(real) > error else 0.0:.3g}"
    pair = f"a complex pair with ω={turning:.2g}"
    if any(group.size > group.dim for group in leading):
        which = pair if turns else value
        return f"the leading eigenvalue of V is {which} and (nearly) defective, a Jordan block"
    if turns:
        return f"the leading eigenvalues of V are {pair}, so tokens may rotate forever"
    if real <= error:
        return f"the leading eigenvalue of V is {value}, not positive; {unknown}"
    return unknown


def _steps_left(before: int, since: float, steps: int, t: float, t_end: float) -> float:
    """The estimated number of remaining steps, from those between time `since` and t."""
    if t <= 0.0:  # steps too short to change the time
        return math.inf
    grown = math.log(t / since) if t > since > 0 else 0.0
    ahead = math.log(t_end / t)
    if grown >= math.log(STEADY):  # a constant number of steps per decade of time
        return (steps - before) * ahead / grown
    if grown == 0.0:
        return math.inf
    # Time grows like a power of the number of steps, usually the first power.
    exponent = ahead * math.log(steps / max(before, 1)) / grown
    return steps * math.expm1(exponent) if exponent < 700 else math.inf


def _about(count: float) -> str:
    if count > 1e99:
        return "infinitely many"
    return f"about {count:.0e}".replace("e+0", "e").replace("e+", "e")


def _duration(seconds: float) -> str:
    for unit, size in (("years", 3.15e7), ("days", 86400.0), ("hours", 3600.0)):
        if seconds >= 2 * size:
            count = seconds / size
            return f"about {count:.0f} {unit}" if count < 1e6 else f"more than a million {unit}"
    return f"about {seconds / 60:.0f} minutes"
