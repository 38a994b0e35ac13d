"""Parts of engines that only tests call by themselves.

To be called by Python, such a part is compiled anew. A process that has just compiled an engine
with this part in it has done half of the work.
"""

from __future__ import annotations

import numpy as np

import parkade as pk
from parkade.engine import field_linear, field_stages, field_velocity, harmonic
from parkade.engine.running import Chunk
from parkade.engine.system import unrolled
from parkade.engine.velocity import velocity, velocity_batch
from parkade.solve.frame import transformer_frame
from parkade.solve.lower import prepare, prepare_field
from support import bits
from support.harmonics import any_queries, systems
from support.linear_jacobians import linearized_by_series, solved_by_series, tangent
from support.query_sums import At
from support.running_sums import Sums


def compile_parts(kind):
    """Compile what tests call of the code of an engine."""
    if kind.on_all_cores:
        return
    if kind.parts:
        if kind.method == "implicit":
            _field()
    elif kind.method == "implicit" and kind.sums == "harmonic":
        _series(kind.d, kind.any_query)
    elif (kind.method, kind.d, kind.mask) == ("implicit", 2, "causal"):
        bits.preload()
    elif kind.method == "explicit" and kind.sums == "direct" and kind.d not in (6, 7):
        system = prepare(pk.Attention(kind.d))
        velocity(system, np.eye(1, kind.d))
        if kind.d != 5:
            _batch(system, kind.d)


def _batch(system, d):
    x = pk.sphere.uniform(4, d, seed=1)[None]
    velocity_batch(system, unrolled(d), x, np.empty_like(x))


def _series(d, any_query):
    x, mass = pk.sphere.uniform(20, d, seed=1), np.ones(20)
    model = any_queries(d, 9.0) if any_query else pk.Attention(d, 9.0)
    _, system = systems(model, len(x))
    velocity(system, x)
    harmonic.groups(system._replace(causal=False), unrolled(d), x)
    lin = linearized_by_series(system, x)
    solved_by_series(system, lin, x, tangent(x), 10.0)
    if d == 2:
        _batch(system, d)
    if any_query:
        sums = At(d, 9.0).add(x, mass)
        sums.first(x)
        sums.second(x)
        sums.set(x, 0, 1)
        chunk, out, moved = Chunk(x, 0, 1), np.empty((1, 2 + d)), np.zeros((d, len(x)))
        sums.engine.far_changes(sums.running, sums.series, sums.queries, chunk, moved, out)
    else:
        sums = Sums(d, 9.0).add(x, mass)
        sums.at(x)
        sums.second_at(x)
        sums.change(x, np.zeros((d, len(x))))


def _field():
    model = pk.Transformer([pk.Head(d=2)], norm="pre")
    field = prepare_field(model, transformer_frame(model, long=False), 0.0)
    state = np.array([[1.0, 0.0, 0.0]])
    work = field_stages.workspace(field, *state.shape)
    field_linear.linearize(field, state, work.lin)
    field_stages.invert(work.lin.blocks, 1.0, work.inverses)
    field_stages.solve(field, work.lin, work.inverses, np.zeros((1, 3)), work.u[0])
    field_velocity.velocity(field, state)
    field_velocity.velocity(field, np.stack([state] * 9))
