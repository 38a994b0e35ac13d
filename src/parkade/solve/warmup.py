"""The kinds of machine code, and how to compile them: for a run, ahead of one, or all at once."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from parkade.base import forks
from parkade.base.progress import Report, compiling
from parkade.base.types import MaskName
from parkade.engine.compile.jit import COUNTS
from parkade.engine.compile.threads import cores
from parkade.engine.flow import linear_time
from parkade.engine.steps import clock
from parkade.engine.steps.integrator import Goal
from parkade.engine.steps.integrator import Steps as Room
from parkade.engine.steps.methods import METHODS
from parkade.engine.sums.lengths import LENGTHS
from parkade.engine.sums.series import SERIES
from parkade.engine.system import SMALL_D, unrolled
from parkade.model import sphere
from parkade.model.attention import Attention
from parkade.model.parts.head import Head
from parkade.model.transformer import Transformer
from parkade.solve.lowering.frame import transformer_frame
from parkade.solve.lowering.lower import prepare, prepare_field
from parkade.solve.lowering.workspace import field_workspace


class Kind(NamedTuple):
    """What machine code depends on. All dimensions from `SMALL_D` on share the same code."""

    method: str
    d: int
    sums: str
    mask: MaskName = "causal"
    on_all_cores: bool = False
    any_query: bool = False  # whether harmonic sums allow any Q and K
    parts: bool = False  # whether the model has more than one plain head

    @classmethod
    def of(cls, method: str, d: int, *rest: Any) -> Kind:
        """The kind that a run needs, from the values of all fields."""
        kind = cls(method, min(d, SMALL_D), *rest)
        if kind.parts:
            return kind._replace(d=SMALL_D, mask="causal")
        # Full attention needs code of its own only where there is a Jacobian.
        return kind if method == "implicit" else kind._replace(mask="causal")

    def __str__(self) -> str:
        if self.parts:
            return f"{self.method}, transformers"
        dimension = f"d={self.d}" if self.d < SMALL_D else f"d≥{SMALL_D}"
        full = ", full attention" if self.mask == "full" else ""
        any_query = " for any Q and K" if self.any_query else ""
        return f"{self.method}, {dimension}, {self.sums} sums{any_query}{full}"


def all_kinds() -> list[Kind]:
    """All kinds, in order from the slowest to compile to the fastest."""
    dimensions = range(2, SMALL_D + 1)
    masks: list[MaskName] = ["causal", "full"]
    both = (False, True)
    return [
        Kind("implicit", SMALL_D, "direct", parts=True),
        *(Kind("implicit", d, "harmonic", on_all_cores=True) for d in SERIES),
        *(Kind("implicit", d, "harmonic", any_query=some) for d in SERIES for some in both),
        *(Kind("implicit", d, "direct", mask) for d in dimensions for mask in masks),
        *(Kind("explicit", d, "harmonic", on_all_cores=True) for d in SERIES),
        *(Kind("explicit", d, "harmonic", any_query=some) for d in SERIES for some in both),
        *(Kind("explicit", SMALL_D, "direct", on_all_cores=some, parts=True) for some in both),
        *(Kind("splitting", SMALL_D, "direct", on_all_cores=some, parts=True) for some in both),
        *(Kind("explicit", d, "direct", on_all_cores=True) for d in dimensions),
        *(Kind("explicit", d, "direct") for d in dimensions),
    ]


_warm: set[Kind] = set()
_warming = threading.RLock()  # Numba compiles one function at a time anyway
forks.wait_for(_warming)


def warm_up(kind: Kind) -> None:
    """Compile the code that a run needs, or load it from the cache; report it if it takes long."""
    if kind in _warm:
        return
    with _warming, compiling(f"the engine ({kind})"):
        if kind not in _warm:
            _take_a_step(kind)
            _warm.add(kind)


class Functions(NamedTuple):
    """The numbers of functions that were compiled, and that were loaded from files."""

    compiled: int
    loaded: int


def warm_up_all(report: Report) -> Functions:
    """Compile or load all machine code, on all cores."""
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context

    tasks = [*all_kinds(), None]
    total = np.zeros(2, dtype=int)
    with ProcessPoolExecutor(cores(), mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(warm_up_one, kind) for kind in tasks]
        for done, future in enumerate(as_completed(futures), 1):
            total += future.result()
            report(done / len(tasks))
    return Functions(*total.tolist())


def warm_up_one(kind: Kind | None) -> Functions:
    """Compile or load the code of one kind; with None, the code that is used outside of runs."""
    before = Functions(**COUNTS)
    if kind is None:
        _call_the_rest()
    else:
        warm_up(kind)
    return Functions(*(COUNTS[name] - count for name, count in before._asdict().items()))


_begun: set[Kind] = set()


@contextmanager
def compiled_ahead(*kinds: Kind) -> Iterator[None]:
    """Compile these kinds, in this order, in another process while the block runs.

    Numba compiles one function at a time in a process, and an engine takes up to 20 seconds. What
    another process compiles is in the cache when this one needs it.
    """
    new = [kind for kind in kinds if kind not in _begun]
    if not new or cores() == 1 or not sys.executable:
        yield
        return
    _begun.update(new)
    process = subprocess.Popen(
        [sys.executable, "-m", "parkade.solve.warmup", json.dumps(new)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def _take_a_step(kind: Kind) -> None:
    """Take a step with one token, which compiles or loads all code that larger runs need."""
    engine, d, tol = METHODS[kind.method], kind.d, 1e-3
    advance = engine.advance_on_all_cores if kind.on_all_cores else engine.advance
    x, dims = np.eye(1, d), unrolled(d)
    room = Room(np.empty(1), np.empty((1, 1, d)), np.empty((1, engine.dense, 1, d)))
    if kind.parts:
        model = Transformer([Head(d=d)])
        field = prepare_field(model, transformer_frame(model, long=False))
        work = field_workspace(engine, field, 1, d)
        work.clock[clock.STEP] = 1.0  # splitting needs a first step
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


def _call_the_rest() -> None:
    """Call the functions of dense output, clusters, parking, forecasts and energies once each."""
    from parkade.engine.search import neighbours
    from parkade.theory import parking
    from parkade.theory.energy import sequential_energies
    from parkade.theory.forecast import forecast

    x = sphere.uniform(20, 2, seed=1)
    for engine in METHODS.values():
        engine.interpolate(0.5, x, x, np.empty((engine.dense, *x.shape)), np.empty_like(x))
    states, tokens = np.stack([x, x]), np.array([0, 1])
    neighbours.components(x, 0.1)
    neighbours.last_alone(np.array([0.0, 1.0]), states, 0.01, 2.0)
    neighbours.nearest_earlier(states, tokens)
    neighbours.count_near(states, tokens, 0.1)
    for radius in (0.01, 1.0):  # by a search in cells, and one by one
        parking.renyi_centers(x, radius)
        parking.strong_renyi_centers(x, radius, model=Attention(Q=[1.0, 2.0]))
    for pull in ("net", "nearest"):
        forecast(x, 9.0, pull=pull)
    sequential_energies(x, 2.0)


if __name__ == "__main__":
    for fields in json.loads(sys.argv[1]):
        warm_up(Kind(*fields))
