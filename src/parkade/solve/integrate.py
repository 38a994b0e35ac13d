"""Drive a stepper in chunks of steps, with progress, interrupts and memory checks in between."""

from __future__ import annotations

import math
import time

import numpy as np

from parkade.base import progress
from parkade.base.errors import ParkadeError, StuckError
from parkade.base.types import Array
from parkade.model.layers import Layers
from parkade.model.model import Model
from parkade.runs.stats import Stats
from parkade.solve.equilibrium import unstable_until
from parkade.solve.options import Hooks, Problem
from parkade.solve.piecewise import Piecewise
from parkade.solve.planning.pace import Pace, foresee, slowness
from parkade.solve.planning.plan import Plan
from parkade.solve.planning.sums import together
from parkade.solve.record import Recorder
from parkade.solve.stepper import broken, has_vanished, undefined
from parkade.solve.steppers import Steppers
from parkade.solve.steps import TakenSteps

_CHUNK_SECONDS = 0.05
_CHUNK_STEPS = 256
_FEW_STEPS = 16  # in the first chunk
_CHUNK_BYTES = 2**26

CHECK_STEPS = 256
"""Steps between two checks of harmonic sums."""


def integrate(
    plan: Plan, problem: Problem, x0: Array, recorder: Recorder, hooks: Hooks
) -> tuple[Stats, float]:
    """Integrate from `x0` to the end and pass the steps to `recorder` chunk by chunk.

    Returns the stats and the time until which the run can be trusted. The tokens passed to
    `recorder` are in the model's coordinates, but without the rotation of the frame.
    """
    options = problem.options
    steppers = Steppers(alone=hooks.alone)
    started = time.perf_counter()
    begin = steppers.begin
    stepper = Piecewise(plan, x0, begin) if plan.pieces else begin(plan, problem, x0)
    effort = foresee(plan, problem, len(x0))
    if effort.seconds > progress.PATIENCE:  # there is no progress report during a step
        progress.tell.get()(slowness(plan, problem, len(x0), effort.seconds))
    pace = Pace(plan.method, options.t_end, options.tol, effort, options.max_steps)
    largest = min(
        _CHUNK_STEPS,
        _CHUNK_SECONDS / effort.seconds,
        _CHUNK_BYTES / (x0.nbytes * (1 + stepper.dense)),
    )
    largest = max(1, int(largest))
    # The progress of a long run counts decades of time, unless every rotation takes steps.
    passed = math.log1p if plan.method == "implicit" and not effort.turning else float
    whole = passed(options.t_end)

    steps, stopped, check_at, span = 0, "", CHECK_STEPS, stepper.span
    chunk = min(largest, _FEW_STEPS)
    with stepper:
        while stepper.time < options.t_end and not stopped:
            count = int(min(chunk, pace.room(steps)))
            lap = time.perf_counter()
            taken = stepper.advance(count)
            # The cost is an estimate, and steps may be rejected many times: use the clock.
            lap = time.perf_counter() - lap
            chunk = max(1, int(min(largest, 4 * chunk, count * _CHUNK_SECONDS / max(lap, 1e-9))))
            if taken is None:
                stopped = stepper.collapse()
                if not stopped:
                    raise ParkadeError(
                        f"the steps became too short at t={stepper.time:g}; "
                        f"tol={options.tol:g} may be too strict for this model"
                    )
            else:
                taken, stopped = _finite(problem.model, taken)
                d = problem.model.d
                lengths = taken is not None and x0.shape[1] > d
                if taken and lengths and not stopped and has_vanished(x0, taken.state(-1, d), d):
                    stopped = stepper.collapse()
            if stopped and not (options.partial and (steps or taken)):
                raise StuckError(stopped)
            if taken is None:
                break
            if stepper.span != span:
                span = stepper.span
                pace.begin(steps, span)
            steps += len(taken.times)
            if steps >= check_at or stepper.time >= options.t_end:
                stepper.check()
                check_at = steps + CHECK_STEPS
            recorder.add(taken)
            hooks.report(passed(stepper.time) / whole)
            stopped = stopped or pace.judge(steps, stepper.time)
            if hooks.cancelled():
                raise ParkadeError("cancelled")
    rejected, rest = stepper.rejected, stepper.rest_record()
    name, engine, why = together(steppers.sums, x0.shape[1])
    stats = Stats(
        method=plan.method,
        reason=plan.reason,
        engine=engine,
        tol=options.tol,
        steps=steps,
        rejected=rejected,
        evaluations=stepper.stages * (steps + rejected),
        seconds=time.perf_counter() - started - steppers.waited,
        sums=name,
        sums_reason=why,
        stopped=stopped,
        code=stepper.code,
        rested=rest.rested,
        first_rest=rest.first,
        woken=rest.woken,
        saved=rest.skipped / (steps * len(x0)),
        seed=problem.seed if problem.noisy else None,
    )
    unstable = unstable_until(plan.pieces or (problem,), x0, stepper.resting())
    return stats, min(stepper.trusted_until(), unstable)


def _finite(model: Model, taken: TakenSteps) -> tuple[TakenSteps | None, str]:
    """The steps before the first number that is not finite, and a sentence about it, if any.

    No step is recorded without this check, whatever the model and the stepper are. A number that is
    not finite stays so in later steps of the same stepper, so the last step shows it.
    """
    times, tokens, dense, resting = taken
    if np.isfinite(tokens[-1]).all() and np.isfinite(dense[-1]).all():
        return taken, ""
    for i, t in enumerate(times):
        token = broken(np.concatenate([tokens[i][None], dense[i]]))
        if token is not None:
            now = model.at(t) if isinstance(model, Layers) else model
            token = token if resting is None else int(resting.moving[token])
            sound = taken.until(i) if i else None
            return sound, undefined(now, token, f"before t={t:g}")
    return taken, ""
