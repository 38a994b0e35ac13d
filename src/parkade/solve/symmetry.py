"""Starts with a symmetry: the model would keep it for ever, but rounding breaks it.

If three pairs of tokens around a circle meet in three points, the triangle of these is unstable,
and rounding decides how it falls apart. No velocity shows this beforehand, since it has the
symmetry of the tokens. So such a run is compared with one from a start that was moved a little.

A token on an eigenvector of V is such a case, too. Under post-norm `equilibrium` knows at which
rate errors grow there; under others the rate changes with time, and with the length of tokens.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from parkade.base.errors import ParkadeError
from parkade.base.types import Array
from parkade.engine.trust import ROUNDING
from parkade.model.transformer import Transformer
from parkade.solve.equilibrium import growth_rate
from parkade.solve.integrate import integrate
from parkade.solve.naive import Naive
from parkade.solve.options import Hooks, Problem
from parkade.solve.plan import Plan
from parkade.solve.record import recorder

_MOST = 256  # numbers of a state; symmetric starts of more tokens are not looked for
_EQUAL = 1e-13  # what counts as 0
_AT_REST = 1e-9  # the speed of a token at rest, in units of the rate of the model
_APART = 0.01  # how far the two runs may be apart, where tol is not very small
_LARGEST = 1e-6  # how far the start is moved at most
_FIRST = 1e-3  # the first time at which they are compared, in units of the model's
_FACTOR = 1.03  # between two such times


def may_break(problem: Problem, x0: Array) -> bool:
    """Whether tokens are so few and their start so special that rounding may decide the rest."""
    if problem.noisy or not 2 <= x0.size <= _MOST:
        return False
    return _is_regular(problem, x0) or _is_balanced(problem, x0)


def _is_regular(problem: Problem, x0: Array) -> bool:
    """Whether a symmetry of the start is seen at once.

    Two tokens have the same distances from all others, under a mask for which all are alike; or all
    lie in one oblique subspace. No rounding error leads out of a subspace of some coordinates.
    """
    tokens = x0[:, : problem.model.d]
    n = len(tokens)
    if n > 2 and not problem.model.triangular:
        cosines = tokens @ tokens.T
        sums = np.sort((cosines * cosines * (1.0 + cosines)).sum(axis=1))
        if (sums[1:] - sums[:-1]).min() < _EQUAL * n:
            return True
    used = tokens[:, tokens.any(axis=0)]
    if n < used.shape[1]:
        return False
    return bool(np.linalg.svd(used, compute_uv=False)[-1] < _EQUAL)


def _is_balanced(problem: Problem, x0: Array) -> bool:
    """Whether the tokens start on an unstable equilibrium, under another norm than post.

    Under the causal mask only the first one is looked at. Where all V are multiples of I, and
    nothing else moves it, it rests in any place.
    """
    model = problem.model
    if not isinstance(model, Transformer) or model.norm.name == "post":
        return False
    multiples = all(np.array_equal(head.V, head.V[0, 0] * np.eye(model.d)) for head in model.heads)
    if model.triangular and model.mlp is None and multiples:
        return False
    start = x0[:1] if model.triangular else x0
    velocity = Naive(problem, start).velocity(0.0, start)[:, : model.d]
    if np.abs(velocity).max() > _AT_REST * model.rate:
        return False
    return growth_rate(problem, start) > 0.0


def broken_until(plan: Plan, problem: Problem, x0: Array, hooks: Hooks) -> float:
    """The last time before rounding errors of the start have grown to tol; or infinite.

    Two runs are compared at some times: from `x0`, and from a start that is moved in no special
    direction, by much more than rounding but little enough.
    """
    d, tol = problem.model.d, problem.options.tol
    size = min(_LARGEST, _APART * ROUNDING / tol)
    moved = x0.copy()
    push = np.random.default_rng(0).standard_normal((len(x0), d))
    moved[:, :d] += size * push / np.abs(push).max()
    moved[:, :d] /= np.linalg.norm(moved[:, :d], axis=1, keepdims=True)
    times = _times(problem)
    quiet, paths = Hooks(cancelled=hooks.cancelled, alone=False), []
    for start in (x0, moved):
        path = recorder(times, start, plan.method, d)
        with suppress(ParkadeError):  # one may end early: the times before count
            integrate(plan, problem, start, path, quiet)
        paths.append(path.result()[1][:, :, :d])
    axes = np.count_nonzero(x0[:, :d], axis=1) == 1
    if axes.all() and (paths[0] == x0[:, :d]).all():
        return np.inf  # nothing is rounded
    shared = min(map(len, paths))
    gaps = np.abs(paths[0][:shared] - paths[1][:shared]).max(axis=(1, 2))
    apart = np.flatnonzero(gaps > size * tol / ROUNDING)
    return float(times[max(0, apart[0] - 1)]) if apart.size else np.inf


def _times(problem: Problem) -> Array:
    """When to compare: at times of which a longer run has the same, and at the end."""
    t_end, first = problem.options.t_end, _FIRST / max(problem.model.rate, 1e-300)
    count = max(0, int(np.ceil(np.log(t_end / first) / np.log(_FACTOR))))
    return np.concatenate([[0.0], first * _FACTOR ** np.arange(count), [t_end]])
