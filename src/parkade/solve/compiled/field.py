"""Runs of transformers of several parts with compiled engines, with and without noise."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkade.base.types import Array
from parkade.engine.field.field import EVERYTHING, Field
from parkade.engine.flow.linearized import linearize
from parkade.engine.flow.velocity import tick
from parkade.engine.steps.clock import STEP, TIME
from parkade.engine.steps.rest import set_lags
from parkade.engine.steps.rest_state import RestState
from parkade.engine.system import LOG2E, SMALL_D, Dims, unrolled
from parkade.model.transformer import Transformer
from parkade.solve.compiled.base import CompiledStepper
from parkade.solve.compiled.resting import Measuring, Rest
from parkade.solve.lowering.brownian import first_step, noise_of
from parkade.solve.lowering.lower import prepare_field
from parkade.solve.lowering.workspace import field_workspace

_SMALLEST = 900.0  # 2 to the power of minus this is a weight that still counts


class FieldStepper(CompiledStepper):
    """Runs a transformer, by code that is the same in all dimensions."""

    def _set_up(self, n: int, columns: int) -> tuple[Field, Any, Dims]:
        problem = self._problem
        assert isinstance(problem.model, Transformer)
        field = prepare_field(problem.model, self._frame, problem.start - self._origin)
        self._whole = field, field_workspace(self._engine, field, n, columns)
        return *self._whole, unrolled(SMALL_D)

    def _may_rest(self) -> bool:
        # Turned keys differ from token to token, whatever their places are. Weights are relative to
        # the largest score, also of keys that a token does not see: next to one of these, all that
        # it sees could be lost.
        field = self._system
        whole = field.window == EVERYTHING and not field.slopes.any()
        near = 2.0 * float(field.query[0, 0]) < _SMALLEST
        return super()._may_rest() and not field.turns.any() and (whole or near)

    def _part(self, rest: Rest) -> tuple[Field, Any]:
        field, _ = self._whole
        field = field._replace(
            followers=_factors(field, rest),
            slopes=np.zeros_like(field.slopes),
            window=EVERYTHING,
        )
        return field, field_workspace(self._engine, field, len(rest.moving), self._x.shape[1])

    def _measured(self) -> Measuring:
        return self

    def measure(self, state: RestState, x: Array, leader: NDArray[np.int64]) -> bool:
        """Set how far tokens are from their leaders, by velocities and blocks of all tokens."""
        assert self._rest is not None
        field, work = self._whole
        everything, lin = self._rest.whole(x), work.lin
        tick(field, float(self._work.clock[TIME]))
        linearize(field, self._dims, field.query / LOG2E, everything, work)
        scales, d = field.value[0, 0] * lin.factors[:, 0], self._problem.model.d
        set_lags(everything, lin.velocity, lin.blocks, scales, d, leader, state.lag)
        return True

    def check(self) -> None:
        """Do nothing: direct sums are exact."""

    def _are_alone(self, x: Array) -> bool:
        return len(x) == 1 and not len(self._system.inner)


class NoisyFieldStepper(FieldStepper):
    """Runs a transformer with noise. Each model has its own noise and its own steps."""

    def _set_up(self, n: int, columns: int) -> tuple[Field, Any, Dims]:
        field, work, dims = super()._set_up(n, columns)
        problem, options = self._problem, self._problem.options
        noise = noise_of(problem.model, problem.seed, problem.piece)
        work = work._replace(noise=noise, wanted=problem.wanted)
        work.clock[STEP] = first_step(problem.model, noise, options.tol, options.t_end)
        return field, work, dims

    def end(self) -> object:
        """Return None: the next model takes over nothing."""
        return None

    def resume(self, end: object) -> None:
        """Do nothing: the model takes over nothing from the previous one."""

    def resting(self) -> int:
        """Return 0: noise moves all tokens."""
        return 0


def _factors(field: Field, rest: Rest) -> Array:
    """The factors (H, m, m) of the weights of moving tokens: all tokens at one place together.

    A token counts where the mask lets it be seen, less by its distance in the sequence if the head
    has a slope.
    """
    moving = rest.moving
    factors = np.zeros((len(field.slopes), len(moving), len(moving)))
    for j, members in enumerate(rest.members()):
        behind = moving[:, None] - members
        seen = (behind >= 0) & (behind < field.window)
        for h, slope in enumerate(field.slopes):
            factors[h, :, j] = np.where(seen, np.exp2(-slope * np.abs(behind)), 0.0).sum(axis=1)
    return factors
