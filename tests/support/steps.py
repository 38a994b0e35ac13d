"""What one step of an engine leaves in its memory.

Tests look at velocities and linear systems there. To be called by itself, a part of an engine
would have to be compiled once more.
"""

from __future__ import annotations

import numpy as np

from parkade.engine.field.field import Field
from parkade.engine.steps import clock
from parkade.engine.steps.explicit import EXPLICIT
from parkade.engine.steps.implicit import IMPLICIT
from parkade.engine.steps.integrator import Goal, Steps
from parkade.engine.steps.tableau import RODAS4P
from parkade.engine.system import SMALL_D, unrolled
from parkade.solve.lowering.workspace import field_workspace


def implicit_step(system, x, diagonal, t=0.0):
    """The memory after a step from `x` at time t with linear systems (diagonal − J) u = right.

    Velocities that are mostly rounding errors are kept as they are.
    """
    work, steps = memory(IMPLICIT, system, x), room(IMPLICIT, 1, x)
    work.clock[clock.TIME], work.clock[clock.STEP] = t, 1.0 / (RODAS4P.gamma * diagonal)
    goal, system = Goal(np.inf, 1.0, fixed=True), system._replace(floor=0.0)
    assert IMPLICIT.advance(system, _dims(system, x), x.copy(), work, goal, steps) == 1
    return work


def solutions(work):
    """u of each stage of an implicit step, (stages, n, columns)."""
    return np.ascontiguousarray(work.u[:, :, : len(work.y)].transpose(0, 2, 1))


def right_sides(chart, u, diagonal, drift=0.0):
    """Those of the stages by definition, where stage s has the solution u[s].

    `chart` is the flow as a function of the place and of the time passed, and `drift` its
    derivative by time at the start.
    """
    h, ages, sides = 1.0 / (RODAS4P.gamma * diagonal), np.zeros(len(u)), []
    for s in range(len(u)):
        a, c = RODAS4P.A[s, :s], RODAS4P.C[s, :s]
        ages[s] = RODAS4P.gamma * h * (1.0 + c @ ages[:s] / h)  # what u is for f = 1, J = 0
        flow = chart(np.tensordot(a, u[:s], 1), a @ ages[:s])
        sides.append(flow + np.tensordot(c, u[:s], 1) / h + ages[s] * drift)
    return sides


def velocity_inside(system, x):
    """The velocity as an explicit step computes it: on one core, within the compiled engine."""
    work, steps = memory(EXPLICIT, system, x), room(EXPLICIT, 0, x)
    assert EXPLICIT.advance(system, _dims(system, x), x.copy(), work, Goal(1.0, 1.0), steps) == 0
    return work.stages[0]


def equal_steps(engine, system, x, t_end, count):
    """The results of `count` equal steps from `x` to t_end."""
    work, steps = memory(engine, system, x), room(engine, count, x)
    work.clock[clock.STEP] = t_end / count
    goal = Goal(t_end, 1e-6, fixed=True)
    assert engine.advance(system, _dims(system, x), x.copy(), work, goal, steps) == count
    np.testing.assert_allclose(steps.times, np.linspace(0, t_end, count + 1)[1:], rtol=1e-14)
    return steps


def memory(engine, system, x):
    """The workspace of a run of an engine from `x`; direct sums store all weights."""
    if isinstance(system, Field):
        return field_workspace(engine, system, *x.shape)
    return engine.workspace(*x.shape, causal=system.causal, stores=system.table is None)


def _dims(system, x):
    return unrolled(SMALL_D if isinstance(system, Field) else x.shape[1])


def room(engine, count, x):
    """Empty arrays for the results of some steps of an engine."""
    return Steps(
        np.empty(count), np.empty((count, *x.shape)), np.empty((count, engine.dense, *x.shape))
    )
