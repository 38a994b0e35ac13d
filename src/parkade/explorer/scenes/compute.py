"""From settings to a trajectory, and on to a scene."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from parkade.base import check
from parkade.base.errors import StuckError
from parkade.base.progress import Report, compiling
from parkade.engine.compile.threads import single_threaded_blas
from parkade.explorer.scenes.build import build
from parkade.explorer.settings.limits import STUCK, LimitedRecorder, Limits, tol_of
from parkade.explorer.settings.schema import FieldError
from parkade.explorer.settings.settings import Settings
from parkade.runs.trajectory import Trajectory
from parkade.solve.options import Hooks, Options
from parkade.solve.solver import Solver, first_state


def compute_run(
    settings: Settings, limits: Limits, report: Report, cancelled: Callable[[], bool]
) -> tuple[Trajectory, LimitedRecorder]:
    """Simulate; the recorder can go on checking the limits in what follows."""
    with compiling("what finds centres"):
        solver = solver_within(limits, settings)
    # Checked as `simulate` does, so that both give the same bits.
    free = check.tokens(np.delete(settings.start, settings.held, axis=0))
    recorder = LimitedRecorder(first_state(settings.model, free), limits, cancelled)
    # One thread each: the runs of several clients share the cores.
    hooks = Hooks(report, cancelled, alone=False, keep=recorder.start)
    try:
        return solver.run(free, hooks, seed=settings.seed), recorder
    except StuckError as error:
        reason = str(error).partition(";")[0]
        raise FieldError("norm", STUCK.format(reason=reason)) from None


def solver_within(limits: Limits, settings: Settings) -> Solver:
    """The solver of a run and its plan; raises if the run would take too many steps."""
    held = settings.held
    frozen = settings.start[held] if len(held) else None
    model = settings.model
    options = Options(settings.T, tol=tol_of(model), frozen=frozen)
    solver = Solver(model, options)
    limits.foresee(settings, solver.plan(settings.n - len(held)))
    return solver


def compute_scene(
    settings: Settings, limits: Limits, report: Report, cancelled: Callable[[], bool]
) -> dict[str, Any]:
    """Simulate, and describe what the tokens did."""
    run, recorder = compute_run(settings, limits, report, cancelled)
    with compiling("what finds clusters"), single_threaded_blas():
        return build(run, settings, checkpoint=recorder.checkpoint)
