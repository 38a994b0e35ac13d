"""Parts of engines that only tests call by themselves.

To be called by Python, such a part is compiled anew. A process that has just compiled an engine
with this part in it has done half of the work. Most tests do without: they look at what a step
of an engine leaves in its memory (`support.steps`), or call what runs on all cores call.
"""

from __future__ import annotations

import numpy as np

import parkade as pk
from parkade.engine.field import velocity as field_velocity
from parkade.engine.flow.velocity import velocity, velocity_batch
from parkade.engine.sums.running import Chunk
from parkade.engine.system import unrolled
from parkade.solve.lowering.frame import transformer_frame
from parkade.solve.lowering.lower import prepare, prepare_field
from support import bits
from support.harmonics import any_queries, systems
from support.query_sums import At
from support.running_sums import Sums


def compile_parts(kind):
    """Compile what tests call of the code of an engine."""
    if kind.on_all_cores:
        return
    if kind.parts:
        if kind.method == "explicit":
            _systems()
    elif kind.method == "implicit" and kind.sums == "harmonic":
        _sums(kind.d, kind.any_query)
        _velocities(kind.d, kind.any_query)
    elif (kind.method, kind.d, kind.mask) == ("implicit", 2, "causal"):
        bits.preload()
    elif (kind.method, kind.d, kind.sums) == ("explicit", 5, "direct"):
        velocity(prepare(pk.Attention(kind.d)), np.eye(1, kind.d))


def _systems():
    """Many transformers at once."""
    model = pk.Transformer([pk.Head(d=2)])
    field = prepare_field(model, transformer_frame(model, long=False))
    field_velocity.velocity(field, np.stack([np.eye(1, 2)] * 2), threads=1)


def _velocities(d, any_query):
    """On all cores; tests compute those for any Q and K on the sphere on one core only."""
    if d == 3 and any_query:
        return
    x = pk.sphere.uniform(20, d, seed=1)
    model = any_queries(d, 9.0, mask="full") if any_query else pk.Attention(d, 9.0, mask="full")
    _, system = systems(model, len(x))
    velocity(system, x)
    if d == 2 and not any_query:
        velocity_batch(system, unrolled(d), x[None], np.empty_like(x[None]))


def _sums(d, any_query):
    x, mass = pk.sphere.uniform(20, d, seed=1), np.ones(20)
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
