"""`simulate`: check the input, choose the engine, drive it, return a `Trajectory`."""

from __future__ import annotations

import dataclasses
import threading
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from parkade.base import check
from parkade.base.errors import InaccurateSumsError, InputError, TrustWarning, UnfinishedError
from parkade.base.progress import bar
from parkade.base.types import Array
from parkade.model.attention import Attention
from parkade.runs.rotation import turn
from parkade.runs.stats import Stats
from parkade.runs.trajectory import Trajectory
from parkade.solve.plan import WHOLE, Method, Plan, choose
from parkade.solve.record import Recorder, recorder
from parkade.solve.sums import SumsOption
from parkade.solve.sums import choose as choose_sums

Times: TypeAlias = ArrayLike | Literal["steps", "final"]

_MIN_TOL, _MAX_TOL = 1e-13, 1e-2


def simulate(
    model: Attention,
    tokens: ArrayLike,
    t_end: float,
    *,
    times: Times = "steps",
    tol: float = 1e-6,
    method: Method = "auto",
    sums: SumsOption = "auto",
    frozen: ArrayLike | None = None,
    frozen_weights: ArrayLike | None = None,
    max_steps: int | None = None,
    partial: bool = False,
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
    method : "auto", "explicit" or "implicit"
        The integrator; "auto" chooses, and the `stats` of the result say why.
    sums : "auto", "direct" or "harmonic"
        How attention is summed: over all pairs, or in linear time by harmonic functions, which
        needs d = 2 or 3 and KᵀQ a positive multiple of I; "auto" takes the faster one.
    frozen, frozen_weights : (m, d) and (m,) arrays, optional
        Fixed tokens everybody attends to, and their weights in the sums (1 by default).
    max_steps : int, optional
        How many steps the run may take. By default it ends with an `UnfinishedError` once it
        is clear that it needs millions of them: some motions never settle.
    partial : bool
        Return what there is of a run that cannot come to its end, instead of raising an error:
        ``run.times[-1] < t_end``, and ``run.stats.stopped`` says why.
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
    job = Job(model, t_end, times, tol, method, sums, frozen, frozen_weights, max_steps, partial)
    x0 = check.tokens(tokens, model.d)
    with bar("simulating", show=progress, remind=True) as report:
        run = job.run(x0, report, lambda: False)
    _warn([run])
    return run


def simulate_many(
    model: Attention,
    tokens: Sequence[ArrayLike] | Array,
    t_end: float,
    *,
    times: Times = "final",
    tol: float = 1e-6,
    method: Method = "auto",
    sums: SumsOption = "auto",
    frozen: ArrayLike | None = None,
    frozen_weights: ArrayLike | None = None,
    max_steps: int | None = None,
    partial: bool = False,
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
    job = Job(model, t_end, times, tol, method, sums, frozen, frozen_weights, max_steps, partial)
    starts = [check.tokens(x, model.d, name=f"tokens[{i}]") for i, x in enumerate(tokens)]
    from parkade.engine.threads import cores

    workers = cores() if threads is None else check.positive_int("threads", threads)
    cancelled = threading.Event()
    done = [0.0] * len(starts)

    with bar(f"simulating {len(starts)} runs", show=progress, remind=True) as report:

        def run(i: int) -> Trajectory:
            def note(fraction: float) -> None:
                done[i] = fraction
                report(sum(done) / len(done))

            return job.run(starts[i], note, cancelled.is_set, alone=False)

        with ThreadPoolExecutor(workers) as pool:
            futures = [pool.submit(run, i) for i in range(len(starts))]
            try:
                finished, _ = wait(futures, return_when=FIRST_EXCEPTION)
                for future in finished:
                    future.result()  # raises what went wrong, not what it stopped
            finally:
                # On an error or Ctrl-C the others stop after their current chunk of steps.
                cancelled.set()
                for future in futures:
                    future.cancel()
            runs = [future.result() for future in futures]
    _warn(runs)
    return runs


def _warn(runs: list[Trajectory]) -> None:
    """Say if a run went on for longer than it can be trusted."""
    doubts = (
        ("trusted_until", "rounding, not the model, may move the tokens by more than tol"),
        ("phase_known_until", "the tokens' place on their orbit is unknown, though not its shape"),
    )
    for name, doubt in doubts:
        limits = [limit for run in runs if (limit := getattr(run, name)) < run.times[-1]]
        if limits:
            warnings.warn(
                f"after t={min(limits):.3g} {doubt}; see run.{name}", TrustWarning, stacklevel=3
            )


class Job:
    """Checked settings of a simulation, ready to run on any start."""

    def __init__(
        self,
        model: Attention,
        t_end: float,
        times: Times,
        tol: float,
        method: Method,
        sums: SumsOption,
        frozen: ArrayLike | None,
        frozen_weights: ArrayLike | None,
        max_steps: int | None = None,
        partial: bool = False,
    ) -> None:
        if not isinstance(model, Attention):
            raise InputError(f"model must be a parkade.Attention, got {type(model).__name__}")
        self.model = model
        self._plans: dict[int, Plan] = {}
        self.t_end = check.final_time(t_end)
        self.tol = check.positive("tol", tol)
        if not _MIN_TOL <= self.tol <= _MAX_TOL:
            raise InputError(f"tol must lie in [{_MIN_TOL:g}, {_MAX_TOL:g}], got {self.tol:g}")
        self.method: Method = check.choice("method", method, ("auto", "explicit", "implicit"))
        self.sums: SumsOption = check.choice("sums", sums, ("auto", "direct", "harmonic"))
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
            wrong = ~((self.weights > 0) & (self.weights <= check.LARGEST))
            if wrong.any():
                raise InputError(
                    f"frozen_weights must be > 0 and at most {check.LARGEST:g}, got "
                    f"{self.weights[wrong][0]:g}"
                )
        self.max_steps = None if max_steps is None else check.positive_int("max_steps", max_steps)
        self.partial = partial

    def run(
        self,
        x0: Array,
        report: Callable[[float], None],
        cancelled: Callable[[], bool],
        *,
        alone: bool = True,
        keep: Callable[[], Recorder] | None = None,
    ) -> Trajectory:
        """Integrate from `x0`; `alone` allows several threads within one velocity.

        With `keep`, what it returns is given the steps, and not what `times` asks for.
        """
        plan: Plan | None = self._plan(len(x0))
        while plan is not None:
            try:
                run = self._follow(plan, x0, report, cancelled, alone, keep)
            except InaccurateSumsError as error:
                if self.sums == "harmonic":
                    raise InaccurateSumsError(f"{error}; use sums='direct'") from None
                direct = choose_sums(self.model, len(x0), self.tol, "direct", self.weights)
                sums = dataclasses.replace(direct, reason=f"done again: {error}")
                plan = dataclasses.replace(plan, sums=sums)
                continue
            plan = self._instead(plan, len(x0)) if run.stats.stopped else None
        if run.stats.stopped and not self.partial:
            raise UnfinishedError(run.stats.stopped)
        return run

    def _instead(self, plan: Plan, n: int) -> Plan | None:
        """Another plan, for a run whose steps turned out to be too short; None if there is none."""
        if self.method != "auto" or plan.method == "implicit" or self.max_steps is not None:
            return None
        if self.model.mask == "full" and n * (self.model.d - 1) > WHOLE:
            return None
        other = self._choose(n, "implicit")
        if other.frame.rotates:
            return None
        return dataclasses.replace(other, reason="explicit steps turned out to be too short")

    def _plan(self, n: int) -> Plan:
        """The plan for n tokens, made once."""
        if n not in self._plans:
            check.compiler()
            self._plans[n] = self._choose(n, self.method)
        return self._plans[n]

    def _choose(self, n: int, method: Method) -> Plan:
        return choose(
            self.model,
            n,
            self.t_end,
            self.tol,
            frozen_weights=self.weights,
            method=method,
            sums=self.sums,
        )

    def _follow(
        self,
        plan: Plan,
        x0: Array,
        report: Callable[[float], None],
        cancelled: Callable[[], bool],
        alone: bool,
        keep: Callable[[], Recorder] | None,
    ) -> Trajectory:
        from parkade.solve.integrate import drive

        frame = plan.frame
        kept = keep() if keep else recorder(self.times, x0, plan.method)
        outcome = drive(
            plan,
            self.model,
            x0,
            self.t_end,
            self.tol,
            frozen=self.frozen,
            weights=self.weights,
            add=kept.add,
            report=report,
            cancelled=cancelled,
            alone=alone,
            max_steps=self.max_steps,
        )
        times, tokens, dense = kept.result()
        return Trajectory(
            model=self.model,
            times=times,
            tokens=turn(frame.spin, times, tokens),
            dense=dense,
            spin=frame.spin,
            frozen=self.frozen,
            frozen_weights=self.weights,
            trusted_until=outcome.trusted_until,
            stats=Stats(
                method=plan.method,
                reason=plan.reason,
                engine=outcome.engine,
                tol=self.tol,
                steps=outcome.steps,
                rejected=outcome.rejected,
                evaluations=outcome.evaluations,
                seconds=outcome.seconds,
                sums=plan.sums.name,
                sums_reason=plan.sums.reason,
                stopped=outcome.stopped,
            ),
        )
