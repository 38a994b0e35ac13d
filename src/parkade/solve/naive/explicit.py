"""Runs of any model with its naive velocity: Dormand–Prince 5(4) in plain NumPy.

It is the reference for tests of the compiled engines, and it runs models that no kernel covers.
`engine.steps.explicit` describes the method; the step control is the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from parkade.base.constants import EPSILON
from parkade.base.types import Array
from parkade.engine.steps.clock import TIME, TRUSTED, new_clock
from parkade.engine.steps.explicit import LAND
from parkade.engine.steps.tableau import DORMAND_PRINCE
from parkade.engine.steps.trust import ROUNDING, new_watch, note_growth, note_rest
from parkade.model.sphere import normalize
from parkade.model.transformer import Transformer
from parkade.solve.lowering.handover import resting, take_over, take_over_watch
from parkade.solve.naive.kinks import kink_error, kinked_part, lost_forces
from parkade.solve.options import Problem
from parkade.solve.stepper import broken, undefined, vanishing
from parkade.solve.steps import RestRecord, TakenSteps

REACH = 4.0
"""How far the fastest token may move in the first step, in units of 1/sharpness."""

_ORDER, _SAFETY, _SHRINK, _GROW = 5, 0.9, 0.2, 10.0
_BETA = 0.04
_ALPHA = 1 / _ORDER - 0.75 * _BETA


class _NaiveEnd(NamedTuple):
    step: float
    clock: Array
    watch: Array


class Naive:
    """The base of all naive integrators: the velocity, the time, and until when to trust it."""

    code = f"NumPy {np.__version__}"

    def __init__(self, problem: Problem, x0: Array) -> None:
        self.model, fixed = problem.model, problem.fixed
        self._frozen = (fixed.tokens, fixed.weights) if len(fixed.weights) else ()
        self._t_end, self._tol = problem.options.t_end, problem.options.tol
        self._x = x0.copy()
        self._start = problem.start
        self.span = self._start, self._start + self._t_end
        self._t, self._h = 0.0, 0.0  # the time since the start, and the next step
        self._rejected = 0
        self._broken: int | None = None  # a token without a velocity, at the last such state
        # The naive velocity subtracts numbers of the size of V.
        self._noise = max(16 * EPSILON * self.model.rate, 1e-300)
        self._clock, self._watch = new_clock(), new_watch(len(x0), self.model.d)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        """Do nothing: there is nothing to clean up."""

    @property
    def time(self) -> float:
        """The time of the last step."""
        return self._t

    @property
    def rejected(self) -> int:
        """The number of rejected steps."""
        return self._rejected

    def rest_record(self) -> RestRecord:
        """An empty record: all tokens take part in all steps."""
        return RestRecord()

    def collapse(self) -> str:
        """A sentence that names a token whose motion is undefined; empty if there is none."""
        now = self._start + self._t
        reason = vanishing(self.model, self._x, now)
        if not reason and self._broken is not None:
            return undefined(self.model, self._broken, f"at t={now:g}")
        return reason

    def check(self) -> None:
        """Do nothing: the naive velocity is exact by definition."""

    def trusted_until(self) -> float:
        """The time after which rounding, not the model, may move tokens by more than tol."""
        return float(self._clock[TRUSTED])

    def resting(self) -> int:
        """How many of the first tokens were at rest at the start; 0 for models that change."""
        if not self.model.autonomous:
            return 0
        return resting(self._watch, self._noise, self.model.triangular)

    def velocity(self, t: float, state: Array) -> Array:
        """The time derivative of a state (n, d), or (..., n, d) if the model is batched.

        If tokens have lengths, states have one more column: ln r.
        """
        now = self._start + t
        with np.errstate(divide="ignore", invalid="ignore"):  # an error message follows
            velocity: Array = np.array(self.model.change(state, *self._frozen, t=now), np.float64)
        token = broken(velocity) if broken(state) is None else None
        if token is not None:  # steps may end at the last time that has a velocity
            self._broken = token
        return velocity

    def retract(self, state: Array) -> Array:
        """A state with its tokens scaled to unit length; all NaN if one has no direction."""
        d = self.model.d
        if broken(state) is not None or not state[..., :d].any(axis=-1).all():
            return np.full_like(state, np.nan)  # the step will be rejected
        if state.shape[-1] == d:
            return normalize(state)
        return np.concatenate([normalize(state[..., :d]), state[..., d:]], axis=-1)

    def end(self) -> object:
        """Return the next step, the clock, and the record of rounding errors."""
        return _NaiveEnd(self._h, self._clock, self._watch)

    def resume(self, end: object) -> None:
        """Take over the last step, limited for fast tokens, and the record of rounding errors."""
        if isinstance(end, _NaiveEnd):
            take_over(self._clock, end.clock, end.step)
            take_over_watch(self._watch, end.watch, -float(end.clock[TIME]))
            longest_step = self._longest_first_step(longest(self.velocity(0.0, self._x)))
            self._h = max(self._h, min(end.step, longest_step))

    def _note(self, velocity: Array, end: float, held: bool = False) -> None:
        """Set the time to the end of a step, and record what rounding may do until then.

        If tokens at rest are `held` in their place, rounding does not move them.
        """
        tol, speed = self._tol, longest(velocity)
        if self.model.autonomous:
            causal = self.model.triangular
            note_growth(self._clock, self._watch, self._x, velocity, ROUNDING, tol, causal)
        if speed > self._noise or not held:
            note_rest(self._clock, end, speed, self._noise, tol)
        self._t = self._clock[TIME] = end

    def _longest_first_step(self, speed: float) -> float:
        """A limit for the first step: forces change within a distance of 1/sharpness."""
        return REACH / max(self.model.sharpness * speed, 1e-300)


class NaiveExplicit(Naive):
    """The explicit method of Dormand and Prince, 5(4), on the sphere."""

    stages, dense = 6, 3

    def __init__(self, problem: Problem, x0: Array) -> None:
        super().__init__(problem, x0)
        self._error = 1e-4
        first = self.velocity(0.0, self._x)
        self._slopes = np.empty((7, *x0.shape))
        self._slopes[0] = first
        speed = longest(first)
        h = min(self._t_end, 0.01 / speed) if speed > 0 else self._t_end
        bend = longest(self.velocity(h, self.retract(self._x + h * first)) - first)
        bend = max(bend / h, speed)
        if bend > 0:
            h = min(100 * h, (0.01 * self._tol / bend) ** (1 / _ORDER), self._t_end)
        self._h = min(h, self._longest_first_step(speed))

    def advance(self, most: int) -> TakenSteps | None:
        """Take at most `most` steps; None if they became too short."""
        times: list[float] = []
        tokens, dense = [], []
        while len(times) < most and self._t < self._t_end:
            before = self._x
            taken = self._step()
            if taken is None:
                return None
            times.append(self._t)
            tokens.append(self._x)
            dense.append(_dense(taken, before, self._x, self._slopes))
            self._slopes[0] = self._slopes[6]
        return TakenSteps(np.array(times), np.array(tokens), np.array(dense))

    def _step(self) -> float | None:
        """Take one step and return its length; None if steps are too short."""
        table, rejected = DORMAND_PRINCE, False
        while True:
            t, h = self._t, self._h
            # Reach t_end exactly, without a tiny step at the end.
            last = t + 1.000001 * h >= self._t_end
            if last:
                h = self._t_end - t
            elif not t + h > t:
                return None
            y = self._x
            for s in range(1, 7):
                y = self.retract(self._x + h * np.tensordot(table.A[s, :s], self._slopes[:s], 1))
                self._slopes[s] = self.velocity(t + table.nodes[s] * h, y)
            error = h * longest(np.tensordot(table.error, self._slopes, 1)) / self._tol
            kink, place = self._kinks(h, y)
            if error <= 1.0 and not kink > 1.0:
                break
            self._rejected += 1
            rejected = True
            shrink = _SAFETY * error**-_ALPHA if error < 1e300 else _SHRINK
            self._h = h * (min(place, LAND) if kink > 1.0 else max(_SHRINK, shrink))
        factor = _SAFETY * max(error, 1e-10) ** -_ALPHA * self._error**_BETA
        factor = min(1.0 if rejected else _GROW, max(_SHRINK, factor))
        if not last or factor < 1.0:
            self._h = h * factor
        self._error = max(error, 1e-4)
        self._note(self._slopes[0], self._t_end if last else t + h)
        self._x = y
        return h

    def _kinks(self, h: float, y: Array) -> tuple[float, float]:
        """The relative error from kinks in a step of size h to y, and a factor to shorten it."""
        mlp, d = kinked_part(self.model), self.model.d
        if mlp is None:
            return 0.0, 1.0
        ends = np.stack([self._x, y])[..., :d]
        lost, places = lost_forces(mlp, h, ends, self._slopes[[0, 6]][..., :d])
        if not lost.any():
            return 0.0, 1.0
        return kink_error(h * lost / self._clocks(y, self._t + h), places, self._tol)

    def _clocks(self, state: Array, t: float) -> Array:
        """The clocks s_k of the normalisation at a state, (n,) or a number."""
        assert isinstance(self.model, Transformer)
        d, now = self.model.d, self._start + t
        force = self.model.force(state[:, :d], *self._frozen, t=now)
        radii = np.exp(state[:, d:]) if state.shape[1] > d else 1.0
        clocks: Array = np.ravel(self.model.norm.clock(np, force, radii, now))
        return clocks


def longest(v: Array) -> float:
    """The largest length of a row; NaN if any entry is NaN."""
    return float(np.linalg.norm(v, axis=-1).max())


def _dense(h: float, x: Array, y: Array, slopes: Array) -> Array:
    """The dense output for interpolation between x and y, (3, n, d)."""
    step = y - x
    left = h * slopes[0] - step
    right = step - h * slopes[6] - left
    return np.stack([left, right, h * np.tensordot(DORMAND_PRINCE.dense, slopes, 1)])
