"""`simulate`: check the input, choose the engine, drive it, return a `Trajectory`."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import nullcontext
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from parkade import check
from parkade.attention import Attention
from parkade.errors import InputError, ParkadeError
from parkade.progress import bar, say_if_slow
from parkade.record import recorder
from parkade.trajectory import Stats, Trajectory
from parkade.types import Array

Method: TypeAlias = Literal["auto", "explicit", "implicit"]
Times: TypeAlias = ArrayLike | Literal["steps", "final"]

_CHUNK_SECONDS = 0.05  # between two looks at the keyboard and the progress bar
_CHUNK_BYTES = 2**26
_MIN_TOL, _MAX_TOL = 1e-13, 1e-2


def simulate(
    model: Attention,
    tokens: ArrayLike,
    t_end: float,
    *,
    times: Times = "steps",
    tol: float = 1e-6,
    method: Method = "auto",
    frozen: ArrayLike | None = None,
    frozen_weights: ArrayLike | None = None,
    progress: bool = False,
) -> Trajectory:
    """Follow the tokens from time 0 to `t_end`.

    Parameters
    ----------
    model : Attention
    tokens : (n, d) array
        Unit vectors, in sequence order.
    t_end : float
    times : array, "steps" or "final"
        What to keep: the tokens at given times, at every step (with dense output, so that
        `Trajectory.at` gives any time), or at the end only.
    tol : float
        Largest error of a token in one step, an angle in radians.
    method : "auto" or "explicit"
        The integrator; "auto" chooses, and the `stats` of the result say why.
    frozen, frozen_weights : (m, d) and (m,) arrays, optional
        Fixed tokens everybody attends to, and their weights in the sums (1 by default).
    progress : bool
        Show a progress bar on standard error.

    Returns
    -------
    Trajectory

    Examples
    --------
    >>> import parkade as pk
    >>> x0 = pk.sphere.uniform(32, 3, seed=1)
    >>> run = pk.simulate(pk.Attention(V=[1, 1, -1], beta=9), x0, t_end=5000)
    >>> bool(abs(run.final[:, 2]).max() < 1e-6)  # all on the plane of the two leading directions
    True
    """
    x0 = np.asarray(check.tokens(tokens, model.d))
    job = _Job(model, t_end, times, tol, method, frozen, frozen_weights)
    with bar("simulating", show=progress) as report:
        return job.run(x0, report, lambda: False)


def simulate_many(
    model: Attention,
    tokens: Sequence[ArrayLike] | Array,
    t_end: float,
    *,
    times: Times = "final",
    tol: float = 1e-6,
    method: Method = "auto",
    frozen: ArrayLike | None = None,
    frozen_weights: ArrayLike | None = None,
    progress: bool = False,
    threads: int | None = None,
) -> list[Trajectory]:
    """Follow many independent starts of one model, each with its own steps, on all cores.

    Takes a sequence of (n, d) arrays and otherwise the arguments of `simulate`. The result
    does not depend on the number of `threads`, bit for bit.

    Examples
    --------
    >>> import parkade as pk
    >>> starts = [pk.sphere.uniform(20, 2, seed=s) for s in range(3)]
    >>> [len(run.final) for run in pk.simulate_many(pk.Attention(d=2, beta=9), starts, 10.0)]
    [20, 20, 20]
    """
    starts = [check.tokens(x, model.d, name=f"tokens[{i}]") for i, x in enumerate(tokens)]
    job = _Job(model, t_end, times, tol, method, frozen, frozen_weights)
    workers = os.cpu_count() or 1 if threads is None else check.positive_int("threads", threads)
    cancelled = threading.Event()
    done = [0.0] * len(starts)

    with bar(f"simulating {len(starts)} runs", show=progress) as report:

        def run(i: int) -> Trajectory:
            def note(fraction: float) -> None:
                done[i] = fraction
                report(sum(done) / len(done))

            return job.run(starts[i], note, cancelled.is_set, alone=False)

        with ThreadPoolExecutor(workers) as pool:
            futures = [pool.submit(run, i) for i in range(len(starts))]
            try:
                wait(futures, return_when=FIRST_EXCEPTION)
            finally:
                # On an error or Ctrl-C the others stop after their current chunk of steps.
                cancelled.set()
                for future in futures:
                    future.cancel()
            return [future.result() for future in futures]


class _Job:
    """Checked settings of a simulation, ready to run on any start."""

    def __init__(
        self,
        model: Attention,
        t_end: float,
        times: Times,
        tol: float,
        method: Method,
        frozen: ArrayLike | None,
        frozen_weights: ArrayLike | None,
    ) -> None:
        if not isinstance(model, Attention):
            raise InputError(f"model must be a parkade.Attention, got {type(model).__name__}")
        self.model = model
        self.t_end = check.positive("t_end", t_end)
        self.tol = check.positive("tol", tol)
        if not _MIN_TOL <= self.tol <= _MAX_TOL:
            raise InputError(f"tol must lie in [{_MIN_TOL:g}, {_MAX_TOL:g}], got {self.tol:g}")
        check.choice("method", method, ("auto", "explicit", "implicit"))
        self.method = "explicit" if method == "auto" else method
        self.reason = "asked for" if method != "auto" else "the only method"
        if isinstance(times, str):
            self.times: Array | str = check.choice("times", times, ("steps", "final"))
        else:
            self.times = check.times(times, self.t_end)
        self.frozen = np.empty((0, model.d))
        if frozen is not None:
            self.frozen = check.tokens(frozen, model.d, name="frozen")
        self.weights = np.ones(len(self.frozen))
        if frozen_weights is not None:
            self.weights = check.array("frozen_weights", frozen_weights)
            if self.weights.shape != (len(self.frozen),):
                raise InputError(
                    f"frozen_weights must be one number for each of the {len(self.frozen)} frozen "
                    f"tokens, got shape {self.weights.shape}"
                )
            if not ((self.weights > 0) & (self.weights <= 1e50)).all():
                raise InputError("frozen_weights must be > 0 (and at most 1e50)")

    def run(
        self,
        x0: Array,
        report: Callable[[float], None],
        cancelled: Callable[[], bool],
        *,
        alone: bool = True,
    ) -> Trajectory:
        """Integrate from `x0`; `alone` allows several threads within one velocity."""
        from parkade.engine import METHODS, pairwise, threads

        engine = METHODS[self.method]
        n, d = x0.shape
        keep = recorder(self.times, x0, self.t_end, engine)
        dims = pairwise.dims(d)
        system = pairwise.system(self.model, self.frozen, self.weights)
        _warm_up(engine, d)
        pairs = n * (n + 2 * len(self.frozen)) / (2 if system.causal else 1)
        work = pairs * (d + 8)  # about the nanoseconds of one velocity
        parallel = alone and work > pairwise.PARALLEL_WORK
        per_step = n * d * 8 * (1 + engine.DENSE)
        room = max(
            1, int(min(_CHUNK_SECONDS / (engine.STAGES * work * 1e-9), _CHUNK_BYTES / per_step))
        )
        room = min(room, 256)

        x, work = x0.copy(), engine.workspace(n, d)
        chunk = np.empty(room), np.empty((room, n, d)), np.empty((room, engine.DENSE, n, d))
        settings = (self.t_end, self.tol)
        steps = 0
        begun = time.perf_counter()
        blas = nullcontext() if d < pairwise.SMALL_D else threads.single_threaded_blas()
        with blas:
            with threads.PARALLEL_LOCK if parallel else nullcontext():
                engine.start(system, dims, x, work, *settings, parallel)
            while work.clock[0] < self.t_end:
                with threads.PARALLEL_LOCK if parallel else nullcontext():
                    count = engine.advance(
                        system, dims, x, work, *settings, False, parallel, *chunk
                    )
                if count < 0:
                    raise ParkadeError(
                        f"the step size fell below the precision of t at t={work.clock[0]:g}; "
                        f"tol={self.tol:g} is too strict for this model"
                    )
                steps += count
                keep.add(*(part[:count] for part in chunk))
                report(work.clock[0] / self.t_end)
                if cancelled():
                    raise ParkadeError("cancelled")
        kept_times, kept_tokens, dense = keep.result()
        rejected = int(work.clock[engine.REJECTED])
        return Trajectory(
            model=self.model,
            times=kept_times,
            tokens=kept_tokens,
            dense=dense,
            frozen=self.frozen,
            frozen_weights=self.weights,
            stats=Stats(
                method=self.method,
                reason=self.reason,
                engine="direct sums, tiles" if d < pairwise.SMALL_D else "direct sums, BLAS",
                tol=self.tol,
                steps=steps,
                rejected=rejected,
                evaluations=2 + engine.STAGES * (steps + rejected),
                seconds=time.perf_counter() - begun,
            ),
        )


_warm: set[tuple[str, int]] = set()


def _warm_up(engine: Any, d: int) -> None:
    """Compile, or load from the cache, what a run needs; say so if it takes long."""
    from parkade.engine import pairwise, threads

    kind = (engine.__name__, min(d, pairwise.SMALL_D))
    if kind in _warm:
        return
    message = (
        f"parkade: compiling the {engine.__name__.rpartition('.')[2]} engine for "
        f"{f'd={d}' if d < pairwise.SMALL_D else f'd≥{pairwise.SMALL_D}'} "
        "(some seconds, once: it is cached)"
    )
    x = np.eye(1, d)
    work = engine.workspace(1, d)
    system, dims = pairwise.system(Attention(d)), pairwise.dims(d)
    chunk = np.empty(1), np.empty((1, 1, d)), np.empty((1, engine.DENSE, 1, d))
    with say_if_slow(message), threads.PARALLEL_LOCK:
        engine.start(system, dims, x, work, 1.0, 1e-3, False)
        engine.advance(system, dims, x, work, 1.0, 1e-3, False, False, *chunk)
    _warm.add(kind)
