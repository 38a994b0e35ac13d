"""One run of the explorer, from settings to a trajectory and a scene."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from parkade.base import check
from parkade.base.progress import Report, say_if_slow
from parkade.engine.threads import single_threaded_blas
from parkade.explorer.build import build
from parkade.explorer.limits import TOL, Limits, Watch
from parkade.explorer.settings import Settings
from parkade.runs.trajectory import Trajectory
from parkade.solve.options import Hooks, Options
from parkade.solve.solver import Solver


@dataclass(frozen=True)
class Work:
    """A run to be made."""

    settings: Settings
    limits: Limits

    def simulate(self, report: Report, cancelled: Callable[[], bool]) -> tuple[Trajectory, Watch]:
        """Follow the tokens; the watch goes on watching whatever is done next."""
        with say_if_slow("compiling what finds centres (once: it is cached)"):
            self.limits.foresee(self.settings)
        settings, held = self.settings, self.settings.held
        # Checked as `simulate` does, so that both give the same bits.
        free = check.tokens(np.delete(settings.start, held, axis=0))
        frozen = settings.start[held] if len(held) else None
        solver = Solver(settings.model, Options(settings.T, tol=TOL, frozen=frozen))
        watch = Watch(free, self.limits, cancelled)
        # One thread each: runs of several people share the cores.
        hooks = Hooks(report, cancelled, alone=False, keep=watch.start)
        return solver.run(free, hooks), watch

    def scene(self, report: Report, cancelled: Callable[[], bool]) -> dict[str, Any]:
        """Follow the tokens and describe what they did."""
        run, watch = self.simulate(report, cancelled)
        slow = say_if_slow("compiling what finds clusters (once: it is cached)", 3.0)
        with slow, single_threaded_blas():
            return build(run, self.settings, pause=watch.pause)
