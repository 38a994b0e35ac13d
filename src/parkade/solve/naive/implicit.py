"""Long runs of any causal model with its naive velocity: RODAS4P with finite differences.

`engine.steps.implicit` describes the method: steps in the gnomonic chart at their start, and a
limit on steps if tokens are near an unstable equilibrium. Here the Jacobian comes from finite
differences of the velocity, and time is one more variable, so that the velocity may depend on it.
The linear system is solved token by token if no token depends on a later one, and all at once
otherwise.
"""

from __future__ import annotations

import numpy as np

from parkade.base.types import Array
from parkade.engine.steps.tableau import RODAS4P
from parkade.solve.naive.explicit import Naive, longest
from parkade.solve.options import Problem
from parkade.solve.steps import TakenSteps

_PUSH = 6e-6  # step of central differences: the cube root of machine epsilon
_CHUNK = 2**21  # entries of perturbed states held in memory at once

_SAFETY, _SHRINK, _GROW = 0.9, 0.2, 6.0
_RELEASE = 800.0  # e-foldings after which a token at rest has no perturbation left to grow
_PLACE = 0.05  # how far a token may drift and still count as at rest


class NaiveImplicit(Naive):
    """The implicit method RODAS4P on the sphere."""

    stages, dense = 6, 2

    def __init__(self, problem: Problem, x0: Array) -> None:
        super().__init__(problem, x0)
        speed = max(2.0 * self.model.rate, longest(self.velocity(0.0, x0)))
        first = 0.1 * self._tol**0.25 / max(speed, 1e-300)
        self._h = min(self._t_end, first, self._longest_first_step(speed))
        self._old_h, self._error = 0.0, 1.0
        self._growth, self._place = np.zeros(len(x0)), x0.copy()

    def advance(self, most: int) -> TakenSteps | None:
        """Take at most `most` steps; None if they became too short."""
        times: list[float] = []
        tokens, dense = [], []
        while len(times) < most and self._t < self._t_end:
            stages = self._step()
            if stages is None:
                return None
            times.append(self._t)
            tokens.append(self._x)
            dense.append(np.tensordot(RODAS4P.dense, stages, 1))
        return TakenSteps(np.array(times), np.array(tokens), np.array(dense))

    def _step(self) -> Array | None:
        """Take one step and return its stages (6, n, d); None if steps are too short."""
        chart = _Chart(self, self._x, self._t)
        if not chart.finite:
            return None
        fastest = _abscissas(chart)
        while True:
            t = self._t
            rates = self._bound(fastest, self._h)
            bound = rates.max(initial=0.0)
            h = min(self._h, 1.0 / bound) if bound > 0 else self._h
            last = t + 1.000001 * h >= self._t_end
            if last:
                h = self._t_end - t
            if not h > 1e-300:
                return None
            stages = chart.stages(h)
            error = longest(stages[-1]) / self._tol
            if self._control(h, error, last):
                break
        held = bool(fastest.max() < -self._noise / self._tol)
        self._note(chart.slope, self._t_end if last else t + h, held)
        self._x = self.retract(self._x + np.tensordot(RODAS4P.end, stages, 1))
        self._settle(h, rates)
        return stages

    def _control(self, h: float, error: float, last: bool) -> bool:
        """Set the next step; return whether this one is accepted (Gustafsson's controller)."""
        accepted = error <= 1.0
        factor = min(1 / _SHRINK, max(1 / _GROW, error**0.25 / _SAFETY))
        if not error < 1e300:
            factor = 1 / _SHRINK
        if accepted:
            error = max(error, 1e-2)
            if self._old_h > 0:
                predicted = self._old_h / h * (error**2 / self._error) ** 0.25
                factor = max(factor, min(1 / _SHRINK, predicted / _SAFETY))
            self._old_h, self._error = h, error
        else:
            self._rejected += 1
        if not (accepted and last):
            self._h = h / factor
        return accepted

    def rates(self) -> Array:
        """The present growth rates of perturbations: one per token, or one for all together."""
        return _abscissas(_Chart(self, self._x, self._t))

    def _bound(self, fastest: Array, h: float) -> Array:
        """The growth rates of perturbations of each token; 0 where they do not limit the step."""
        rates = np.where((fastest <= 1.0 / h) | (fastest <= self._noise), 0.0, fastest)
        n = len(self._x)
        if len(rates) < n:  # one block of all tokens
            return np.full(n, rates[0] if (self._growth < _RELEASE).any() else 0.0)
        rates[self._growth >= _RELEASE] = 0.0
        return rates

    def _settle(self, h: float, rates: Array) -> None:
        """Add up the growth of perturbations of tokens at rest."""
        d = self.model.d  # the lengths of tokens do not count
        moved = np.linalg.norm((self._x - self._place)[:, :d], axis=1) > _PLACE
        self._growth = np.where(moved, 0.0, self._growth + h * rates)
        self._place[moved] = self._x[moved]


def _abscissas(chart: _Chart) -> Array:
    """The largest real part of the eigenvalues of each diagonal block of the Jacobian."""
    return np.array([float(np.linalg.eigvals(block).real.max()) for block in chart.blocks])


class _Chart:
    """The gnomonic chart at a configuration, and the velocity linearised there."""

    def __init__(self, run: NaiveImplicit, x: Array, t: float) -> None:
        self._run, self._x, self._t = run, x, t
        n, columns = x.shape
        d = run.model.d
        # Columns that complete each token to an orthonormal basis.
        whole = np.concatenate([x[:, :d, None], np.broadcast_to(np.eye(d), (n, d, d))], axis=2)
        self._basis: Array = np.zeros((n, columns, columns - 1))  # (n, d, d-1) without lengths
        self._basis[:, :d, : d - 1] = np.linalg.qr(whole).Q[:, :, 1:d]
        self._basis[:, d:, d - 1 :] = 1.0  # ln r is a coordinate of its own
        self.slope = run.velocity(t, x)
        self._jacobian = self._differences()  # (n, d-1, n, d-1)
        self._change = self._change_with_time()

    @property
    def finite(self) -> bool:
        """Whether the velocity and its derivatives are finite."""
        parts = self.slope, self._jacobian, self._change
        return all(bool(np.isfinite(part).all()) for part in parts)

    @property
    def blocks(self) -> list[Array]:
        """The diagonal blocks of the Jacobian; one block of all tokens if it is not triangular."""
        n = len(self._x)
        if self._run.model.triangular:
            return [self._jacobian[k, :, k] for k in range(n)]
        size = n * self._basis.shape[2]
        return [self._jacobian.reshape(size, size)]

    def stages(self, h: float) -> Array:
        """The stages of a step of size h, (6, n, d)."""
        solve = self._solver(1.0 / (RODAS4P.gamma * h))
        stages = np.zeros((6, *self._x.shape))
        ages = np.zeros(6)  # the stages of the variable t
        for s in range(6):
            earlier, scale = RODAS4P.C[s, :s] / h, RODAS4P.gamma * h
            ages[s] = scale * (1.0 + earlier @ ages[:s])
            slope = self.slope
            if s > 0:
                t = self._t + float(RODAS4P.A[s, :s] @ ages[:s])
                slope = self._at(t, np.tensordot(RODAS4P.A[s, :s], stages[:s], 1))
            slope = slope + np.tensordot(earlier, stages[:s], 1) + ages[s] * self._change
            stages[s] = solve(slope)
        return stages

    def _at(self, t: float, v: Array) -> Array:
        """The velocity dv/dt at v in the chart, (n, d), or at many v at once."""
        moved, d = self._x + v, self._run.model.d
        r = np.linalg.norm(moved[..., :d], axis=-1, keepdims=True)
        f = self._run.velocity(t, np.concatenate([moved[..., :d] / r, moved[..., d:]], axis=-1))
        radial = np.sum(self._x[:, :d] * f[..., :d], axis=-1, keepdims=True)
        f[..., :d] = r * (f[..., :d] - radial * moved[..., :d])
        return f

    def _differences(self) -> Array:
        """The Jacobian of velocity k by token j in tangent coordinates, (n, d-1, n, d-1)."""
        n, d = self._x.shape
        size = n * (d - 1)
        jacobian = np.zeros((n, d - 1, size))
        some = max(1, _CHUNK // (2 * n * max(n, d))) if self._run.model.batched else 1
        for first in range(0, size, some):
            columns = np.arange(first, min(size, first + some))
            j, i = np.divmod(columns, d - 1)
            push = np.zeros((len(columns), n, d))
            push[np.arange(len(columns)), j] = _PUSH * self._basis[j, :, i]
            if self._run.model.batched:
                change = self._at(self._t, push) - self._at(self._t, -push)
            else:
                change = (self._at(self._t, push[0]) - self._at(self._t, -push[0]))[None]
            jacobian[:, :, columns] = np.einsum("ckd,kde->kec", change, self._basis) / (2 * _PUSH)
        jacobian = jacobian.reshape(n, d - 1, n, d - 1)
        if self._run.model.triangular:
            jacobian *= np.tri(n)[:, None, :, None]
        return jacobian

    def _change_with_time(self) -> Array:
        """The partial derivative of the velocity with respect to time."""
        if self._run.model.autonomous:
            return np.zeros_like(self._x)
        since = self._run.span[0] + self._t
        step = _PUSH * max(since, 1.0 / max(self._run.model.rate, 1e-300))
        before = max(0.0, self._t - step)
        earlier = self._run.velocity(before, self._x)
        change = self._run.velocity(self._t + step, self._x) - earlier
        return change / (self._t + step - before)

    def _solver(self, diagonal: float) -> _Solver:
        return _Solver(self._jacobian, self._basis, diagonal, self._run.model.triangular)


class _Solver:
    """Solves (diagonal·I − J) u = slope."""

    def __init__(self, jacobian: Array, basis: Array, diagonal: float, triangular: bool) -> None:
        from scipy.linalg import lu_factor

        self._jacobian, self._basis = jacobian, basis
        n, size = jacobian.shape[:2]
        self._triangular = triangular
        if triangular:
            blocks = jacobian[np.arange(n), :, np.arange(n)]
            self._inverses = np.linalg.inv(diagonal * np.eye(size) - blocks)
        else:
            whole = jacobian.reshape(n * size, n * size)
            self._factors = lu_factor(diagonal * np.eye(n * size) - whole, check_finite=False)

    def __call__(self, slope: Array) -> Array:
        from scipy.linalg import lu_solve

        right = np.einsum("kd,kde->ke", slope, self._basis)
        n, size = right.shape
        if self._triangular:
            u = np.zeros_like(right)
            for k in range(n):  # forward substitution, token by token
                coupled = np.einsum("ejf,jf->e", self._jacobian[k, :, :k], u[:k])
                u[k] = self._inverses[k] @ (right[k] + coupled)
        else:
            u = lu_solve(self._factors, right.ravel(), check_finite=False).reshape(n, size)
        solution: Array = np.einsum("ke,kde->kd", u, self._basis)
        return solution
