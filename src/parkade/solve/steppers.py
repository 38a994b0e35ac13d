"""Create the stepper that a plan needs."""

from __future__ import annotations

import time
from collections.abc import Callable

from parkade.base.types import Array
from parkade.solve.compiled.base import CompiledStepper
from parkade.solve.compiled.field import FieldStepper, NoisyFieldStepper
from parkade.solve.compiled.head import HeadStepper
from parkade.solve.compiled.many import ManyStepper
from parkade.solve.naive.explicit import NaiveExplicit
from parkade.solve.naive.implicit import NaiveImplicit
from parkade.solve.naive.splitting import NaiveSplitting
from parkade.solve.options import Problem
from parkade.solve.planning.plan import Kernel, Method, Plan
from parkade.solve.planning.sums import Sums
from parkade.solve.stepper import Stepper

_COMPILED: dict[tuple[Kernel, Method], Callable[..., CompiledStepper]] = {
    ("head", "explicit"): HeadStepper,
    ("head", "implicit"): HeadStepper,
    ("field", "explicit"): FieldStepper,
    ("field", "implicit"): FieldStepper,
    ("field", "splitting"): NoisyFieldStepper,
}
_NAIVE: dict[Method, Callable[[Problem, Array], Stepper]] = {
    "explicit": NaiveExplicit,
    "implicit": NaiveImplicit,
    "splitting": NaiveSplitting,
}


class Steppers:
    """Creates steppers, and records their sums and the seconds spent on compilation.

    A run that is `alone` may use all cores.
    """

    def __init__(self, *, alone: bool) -> None:
        self.sums: list[Sums] = []
        self.waited = 0.0
        self._alone = alone

    def begin(self, plan: Plan, problem: Problem, x0: Array) -> Stepper:
        """Create the stepper for a plan, and compile its code."""
        self.sums.append(plan.sums)
        if plan.kernel == "naive":
            return _NAIVE[plan.method](problem, x0)
        kind = ManyStepper if problem.switches else _COMPILED[plan.kernel, plan.method]
        stepper = kind(plan, problem, x0, alone=self._alone)
        start = time.perf_counter()
        stepper.warm_up()
        self.waited += time.perf_counter() - start
        return stepper
