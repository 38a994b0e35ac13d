"""Runs of transformers of several parts with compiled engines, with and without noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from parkade.base.types import Array
from parkade.engine.field.field import EVERYTHING, Field
from parkade.engine.rest.field_rest import FieldTokens, may_rest, set_factors
from parkade.engine.steps.clock import STEP
from parkade.engine.system import SMALL_D, Dims, unrolled
from parkade.model.transformer import Transformer
from parkade.solve.compiled.base import CompiledStepper
from parkade.solve.compiled.resting import Rest
from parkade.solve.lowering.brownian import first_step, noise_of
from parkade.solve.lowering.lower import prepare_field
from parkade.solve.lowering.workspace import field_workspace


class FieldStepper(CompiledStepper):
    """Runs a transformer, by code that is the same in all dimensions."""

    def _set_up(self, n: int, columns: int) -> tuple[Field, Any, Dims]:
        problem = self._problem
        assert isinstance(problem.model, Transformer)
        field = prepare_field(problem.model, self._frame, problem.start - self._origin)
        self._whole = field, field_workspace(self._engine, field, n, columns)
        return *self._whole, unrolled(SMALL_D)

    def _may_rest(self) -> bool:
        return super()._may_rest() and may_rest(self._system)

    def _part(self, rest: Rest) -> tuple[Field, Any]:
        (field, _), m = self._whole, len(rest.moving)
        factors = np.zeros((len(field.slopes), m, m))
        set_factors(field, rest.moving, rest.state.rows, factors)
        field = field._replace(
            followers=factors,
            slopes=np.zeros_like(field.slopes),
            window=EVERYTHING,
        )
        return field, field_workspace(self._engine, field, m, self._x.shape[1])

    def _measured(self) -> FieldTokens:
        field, work = self._whole
        return FieldTokens(field, work.lin, work.clock)

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
