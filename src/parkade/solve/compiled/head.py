"""Runs of one plain head with compiled engines."""

from __future__ import annotations

import numpy as np

from parkade.base.errors import InaccurateSumsError
from parkade.base.types import Array
from parkade.engine.flow import linear_time
from parkade.engine.steps.integrator import Work
from parkade.engine.steps.stages import BLOCK
from parkade.engine.sums import pairwise
from parkade.engine.system import SMALL_D, Dims, System, unrolled
from parkade.engine.vectors import frobenius
from parkade.solve.compiled.base import CompiledStepper
from parkade.solve.compiled.resting import Rest
from parkade.solve.lowering.lower import prepare
from parkade.solve.planning import rules

_ALONE = -40.0  # a base-2 score, relative to a token's own, at which another has no weight
CHECKED = 8
"""The number of tokens whose harmonic sums are compared with direct ones."""


class HeadStepper(CompiledStepper):
    """Runs one plain head, with direct or harmonic sums."""

    def _set_up(self, n: int, columns: int) -> tuple[System, Work, Dims]:
        model, fixed, sums = self._problem.model, self._problem.fixed, self._plan.sums
        system = prepare(
            model,
            fixed.tokens,
            fixed.weights,
            self._frame,
            sums.table,
            sums.accuracy,
            sums.lengths,
        )
        work = self._engine.workspace(n, columns, causal=system.causal, stores=sums.table is None)
        self._whole = system
        return system, work, unrolled(columns)

    def _part(self, rest: Rest) -> tuple[System, Work]:
        """The system of the tokens that move, with direct sums where these are cheaper."""
        system, sums, d = self._whole, self._plan.sums, self._problem.model.d
        n, m = len(self._start), len(rest.moving)
        leaders, followers = rest.followers()
        system = system._replace(leaders=leaders, followers=followers)
        direct = pairwise.seconds(m * m / 2, d)
        cheaper = rules.is_cheaper_directly(sums.seconds, direct, n, m, len(leaders))
        if system.table is not None and cheaper:
            system = system._replace(table=None, lengths=None, accuracy=0.0)
        self._on_all_cores = self._alone and system.table is not None and m > 2 * BLOCK
        if system.table is None:
            self._warm_up("direct")
        columns = self._x.shape[1]
        work = self._engine.workspace(m, columns, causal=True, stores=system.table is None)
        return system, work

    def _measured(self) -> System:
        return self._whole._replace(table=None, lengths=None)

    @property
    def _uses_blas(self) -> bool:
        return self._plan.method != "explicit" or self._problem.model.d >= SMALL_D

    def check(self) -> None:
        """Compare harmonic sums with direct ones, for a few tokens."""
        system, x = self._system, self._x
        if system.table is None:
            return
        chosen = np.linspace(0, len(x) - 1, CHECKED).astype(int)
        error = linear_time.error(system, self._dims, x, chosen)
        if not error <= system.accuracy * max(1.0, frobenius(system.value)):
            raise InaccurateSumsError(
                f"at t={self.time:g} harmonic sums have an error of {error:.1g}, above the bound "
                f"{system.accuracy:.1g}"
            )

    def _are_alone(self, x: Array) -> bool:
        if len(self._system.frozen):
            return False
        if len(x) == 1:
            return True
        scores = x @ self._system.query.T @ x.T
        others = (scores - scores.diagonal()[:, None])[np.tri(len(x), k=-1, dtype=bool)]
        return bool(others.max() < _ALONE)
