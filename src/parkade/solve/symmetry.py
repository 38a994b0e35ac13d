"""Symmetric starts: the model would preserve the symmetry forever, but rounding errors break it.

If three pairs of tokens around a circle meet in three points, the triangle of these points is
unstable, and rounding decides how it breaks up. The velocities do not show this beforehand, since
they have the same symmetry. So such a run is compared with one from a slightly perturbed start.

A token on an eigenvector of V is such a case, too. Under post-norm, `equilibrium` computes the rate
at which errors grow there; under other norms it depends on the time and on the lengths of tokens.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np

from parkade.base.errors import ParkadeError
from parkade.base.types import Array
from parkade.engine.steps.trust import ROUNDING
from parkade.model.transformer import Transformer
from parkade.solve.equilibrium import growth_rate
from parkade.solve.integrate import integrate
from parkade.solve.naive.explicit import Naive
from parkade.solve.options import Hooks, Problem
from parkade.solve.planning.plan import Plan
from parkade.solve.record import Record, Recorder, recorder
from parkade.solve.steps import TakenSteps

_MOST = 256  # entries of a state; larger starts are not checked for symmetry
_EQUAL = 1e-13  # what counts as 0
_AT_REST = 1e-9  # the speed of a token at rest, in units of the rate of the model
_APART = 0.01  # how far apart the two runs may be, unless tol is very small
_LARGEST = 1e-6  # the largest perturbation of the start
_FIRST = 1e-3  # the first time of comparison, in units of 1/rate of the model
_FACTOR = 1.03  # ratio of successive times of comparison
_FEW = 1000  # steps that the perturbed run may take in any case


def may_break(problem: Problem, x0: Array) -> bool:
    """Whether a start of few tokens is so special that rounding may decide the rest of the run."""
    if problem.noisy or not 2 <= x0.size <= _MOST:
        return False
    return _is_regular(problem, x0) or _is_balanced(problem, x0)


def _is_regular(problem: Problem, x0: Array) -> bool:
    """Whether the start has an obvious symmetry.

    Either two tokens have the same distances from all others, under a mask that treats all alike,
    or all lie in an oblique subspace. Rounding does not lead out of one spanned by coordinate axes.
    """
    tokens = x0[:, : problem.model.d]
    n = len(tokens)
    if n > 2 and not problem.model.triangular:
        cosines = tokens @ tokens.T
        sums = np.sort((cosines * cosines * (1.0 + cosines)).sum(axis=1))
        if (sums[1:] - sums[:-1]).min() < _EQUAL * n:
            return True
    d = problem.model.d
    if n >= d and abs(np.linalg.det(tokens[:d])) > _EQUAL:  # rules out most starts quickly
        return False
    used = tokens[:, tokens.any(axis=0)]
    if n < used.shape[1]:
        return False
    return bool(np.linalg.svd(used, compute_uv=False)[-1] < _EQUAL)


def _is_balanced(problem: Problem, x0: Array) -> bool:
    """Whether the tokens start on an unstable equilibrium, for a norm other than post.

    Under the causal mask only the first token is checked, which V alone moves unless there is an
    MLP. If V is a multiple of I, this token rests anywhere.
    """
    model = problem.model
    if not isinstance(model, Transformer) or model.norm.name == "post":
        return False
    if model.triangular and model.mlp is None:
        V = sum((head.V for head in model.heads), np.zeros((model.d, model.d)))
        x = x0[0, : model.d]
        if np.array_equal(V, V[0, 0] * np.eye(model.d)):
            return False
        if np.linalg.norm(V @ x - (x @ V @ x) * x) > _AT_REST * model.rate:
            return False
    start = x0[:1] if model.triangular else x0
    velocity = Naive(problem, start).velocity(0.0, start)[:, : model.d]
    if not np.abs(velocity).max() <= _AT_REST * model.rate:  # it moves, or it has no velocity
        return False
    return growth_rate(problem, start) > 0.0


class Twins:
    """A run, recorded at some times, and a second run from a slightly perturbed start.

    The perturbation has no special direction. It is small, but much larger than rounding errors.
    """

    def __init__(self, plan: Plan, problem: Problem, x0: Array) -> None:
        self._plan, self._problem, self._x0 = plan, problem, x0
        self._times = _times(problem)
        self._path = self._recorder(x0)

    def beside(self, recorder: Recorder) -> Recorder:
        """Return a recorder that passes the steps of the run to `recorder` and to these twins."""
        return _Both(recorder, self._path)

    def broken_until(self, steps: int, hooks: Hooks) -> float:
        """The last time before rounding errors of the start have grown to tol; or infinity.

        The run took `steps` steps; the perturbed run may take about twice as many.
        """
        d, options = self._problem.model.d, self._problem.options
        size = min(_LARGEST, _APART * ROUNDING / options.tol)
        push = np.random.default_rng(0).standard_normal((len(self._x0), d))
        moved = self._x0.copy()
        moved[:, :d] += size * push / np.abs(push).max()
        moved[:, :d] /= np.linalg.norm(moved[:, :d], axis=1, keepdims=True)
        other = self._recorder(moved)
        bounded = replace(options, max_steps=2 * steps + _FEW, partial=True)
        with suppress(ParkadeError):  # it may end early: the times before that count
            integrate(
                self._plan,
                replace(self._problem, options=bounded),
                moved,
                other,
                Hooks(cancelled=hooks.cancelled, alone=False),
            )
        first, second = self._states(self._path), self._states(other)
        axes = np.count_nonzero(self._x0[:, :d], axis=1) == 1
        if axes.all() and (first == self._x0[:, :d]).all():
            return np.inf  # nothing is rounded
        count = min(len(first), len(second))
        gaps = np.abs(first[:count] - second[:count]).max(axis=(1, 2))
        apart = np.flatnonzero(gaps > size * options.tol / ROUNDING)
        return float(self._times[max(0, apart[0] - 1)]) if apart.size else np.inf

    def _recorder(self, start: Array) -> Recorder:
        return recorder(self._times, start, self._problem.model.d)

    def _states(self, path: Recorder) -> Array:
        """The tokens of a run at those times of comparison that it has reached."""
        times, tokens, _ = path.result()
        reached = int((times == self._times[: len(times)]).sum())
        return tokens[:reached, :, : self._problem.model.d]


class _Both:
    """Passes the steps of one run to several recorders."""

    def __init__(self, *recorders: Recorder) -> None:
        self._recorders = recorders

    def add(self, steps: TakenSteps) -> None:
        for each in self._recorders:
            each.add(steps)

    def result(self) -> Record:
        return self._recorders[0].result()


def _times(problem: Problem) -> Array:
    """The times of comparison: a longer run has the same ones, except for the end."""
    t_end, first = problem.options.t_end, _FIRST / max(problem.model.rate, 1e-300)
    count = max(0, int(np.ceil(np.log(t_end / first) / np.log(_FACTOR))))
    return np.concatenate([[0.0], first * _FACTOR ** np.arange(count), [t_end]])
