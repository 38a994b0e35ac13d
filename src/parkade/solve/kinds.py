"""`Kind`: what machine code depends on; and compiling it before a run needs it."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np

from parkade.base import forks
from parkade.base.progress import compiling
from parkade.base.types import MaskName
from parkade.engine.flow import linear_time
from parkade.engine.steps import clock
from parkade.engine.steps.integrator import Goal
from parkade.engine.steps.integrator import Steps as Room
from parkade.engine.steps.methods import METHODS
from parkade.engine.sums.lengths import LENGTHS
from parkade.engine.sums.series import SERIES
from parkade.engine.system import SMALL_D, unrolled
from parkade.model.attention import Attention
from parkade.model.head import Head
from parkade.model.transformer import Transformer
from parkade.solve.compiled import field_workspace
from parkade.solve.frame import transformer_frame
from parkade.solve.lower import prepare, prepare_field


class Kind(NamedTuple):
    """What machine code depends on. Dimensions from `SMALL_D` on share theirs."""

    method: str
    d: int
    sums: str
    mask: MaskName = "causal"
    on_all_cores: bool = False
    any_query: bool = False  # whether harmonic sums are those for any Q and K
    parts: bool = False  # whether the model has more than one plain head

    @classmethod
    def of(cls, method: str, d: int, *rest: Any) -> Kind:
        """The kind that a run needs, given all fields."""
        kind = cls(method, min(d, SMALL_D), *rest)
        if kind.parts:
            return kind._replace(d=SMALL_D, mask="causal")
        # Full attention is another matter only where there is a Jacobian.
        return kind if method == "implicit" else kind._replace(mask="causal")

    def __str__(self) -> str:
        if self.parts:
            return f"{self.method}, transformers"
        dimension = f"d={self.d}" if self.d < SMALL_D else f"d≥{SMALL_D}"
        full = ", full attention" if self.mask == "full" else ""
        any_query = " for any Q and K" if self.any_query else ""
        return f"{self.method}, {dimension}, {self.sums} sums{any_query}{full}"


_warm: set[Kind] = set()
_warming = threading.RLock()  # Numba compiles one function at a time anyway
forks.wait_for(_warming)


def warm_up(kind: Kind) -> None:
    """Compile the code that a run needs or load it from the cache; say so if it takes long."""
    if kind in _warm:
        return
    with _warming, compiling(f"the engine ({kind})"):
        if kind not in _warm:
            _run_once(kind)
            _warm.add(kind)


def _run_once(kind: Kind) -> None:
    """Take a step with one token, which brings in whatever code larger runs need."""
    engine, d, tol = METHODS[kind.method], kind.d, 1e-3
    advance = engine.advance_on_all_cores if kind.on_all_cores else engine.advance
    x, dims = np.eye(1, d), unrolled(d)
    room = Room(np.empty(1), np.empty((1, 1, d)), np.empty((1, engine.dense, 1, d)))
    if kind.parts:
        model = Transformer([Head(d=d)])
        field = prepare_field(model, transformer_frame(model, long=False))
        work = field_workspace(engine, field, 1, d)
        work.clock[clock.STEP] = 1.0  # splitting needs one
        advance(field, dims, x, work, Goal(1.0, tol), room)
        return
    table, lengths = None, None
    if kind.any_query:
        table, lengths = LENGTHS[d](1.0, 1.0, tol)
    elif kind.sums == "harmonic":
        table = SERIES[d].table(1.0, tol)
    system = prepare(Attention(d, mask=kind.mask), table=table, lengths=lengths, accuracy=tol)
    work = engine.workspace(1, d, causal=system.causal, stores=table is None)
    advance(system, dims, x, work, Goal(1.0, tol), room)
    if table is not None:
        linear_time.error(system, dims, x, [0])
