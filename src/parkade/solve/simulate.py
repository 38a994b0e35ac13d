"""`simulate` and `simulate_many`: run a model from a start."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from parkade.base import check
from parkade.base.errors import InputError, TrustWarning, doubts_matter
from parkade.base.progress import bar
from parkade.base.types import Array, Seed
from parkade.model.model import Model
from parkade.model.schedule import Schedule
from parkade.model.scheduled import Scheduled
from parkade.runs.trajectory import Trajectory
from parkade.solve.forward import first_radii
from parkade.solve.options import Hooks, Method, Options, SumsOption, Times, default_tol
from parkade.solve.solver import Solver, new_seed


def simulate(
    model: Model,
    tokens: ArrayLike,
    t_end: float,
    *,
    schedule: Schedule | None = None,
    times: Times = "steps",
    tol: float | None = None,
    method: Method = "auto",
    sums: SumsOption = "auto",
    frozen: ArrayLike | None = None,
    frozen_weights: ArrayLike | None = None,
    radii: ArrayLike | None = None,
    max_steps: int | None = None,
    partial: bool = False,
    rest: bool = True,
    seed: Seed = None,
    progress: bool = False,
) -> Trajectory:
    """Simulate the tokens from time 0 to `t_end`.

    Parameters
    ----------
    model : Attention, Transformer, Flow, Layers or another Model
    tokens : (n, d) array
        Unit vectors, in sequence order.
    t_end : float
        Final time.
    schedule : Schedule, optional
        β(t) in place of the β of the model.
    times : array, "steps" or "final"
        What to save: the tokens at given times, at every step (with dense output, so that
        `Trajectory.at` gives the tokens at any time), or at the end only.
    tol : float
        Largest error of a token in one step, an angle in radians: 1e-6 by default, and 1e-3 for
        models with noise.
    method : "auto", "explicit" or "implicit"
        The integrator; "auto" chooses, and the `stats` of the result give the reason.
    sums : "auto", "direct" or "harmonic"
        How attention is summed: over all pairs, or in linear time with harmonic functions. The
        latter needs d = 2 or 3. "auto" takes the faster one.
    frozen, frozen_weights : (m, d) and (m,) arrays, optional
        Fixed tokens that all tokens attend to, and their weights in the sums (1 by default).
    radii : float or (n,) array, optional
        Initial lengths of the tokens, if the model has lengths; 1 by default.
    max_steps : int, optional
        Maximum number of steps. By default the run raises an `UnfinishedError` when it clearly
        needs millions of steps, because some motions never settle.
    partial : bool
        If the run cannot finish, return the part so far instead of raising an error. Then
        ``run.times[-1] < t_end``, and ``run.stats.stopped`` gives the reason.
    rest : bool
        Leave tokens out of the steps of the implicit method while they follow another one within
        a tenth of `tol`; see `run.stats`. With False all tokens take part in all steps.
    seed : int or numpy.random.Generator, optional
        Seed of the noise; by default a new one, which is kept in ``run.stats.seed``. The same seed
        gives the same noise for any `tol` and `times`.
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
    >>> bool(abs(run.final[:, 2]).max() < 1e-6)  # all in the leading eigenspace
    True
    """
    tol = default_tol(model) if tol is None else tol
    options = Options(
        t_end, times, tol, method, sums, frozen, frozen_weights, max_steps, partial, rest
    )
    solver = Solver(model if schedule is None else Scheduled(model, schedule), options)
    x0 = check.tokens(tokens, model.d)
    with bar("simulating", show=progress, remind=True) as report:
        run = solver.run(x0, Hooks(report), radii, seed)
    _warn([run])
    return run


def simulate_many(
    model: Model,
    tokens: Sequence[ArrayLike] | Array,
    t_end: float,
    *,
    schedule: Schedule | None = None,
    times: Times = "final",
    tol: float | None = None,
    method: Method = "auto",
    sums: SumsOption = "auto",
    frozen: ArrayLike | None = None,
    frozen_weights: ArrayLike | None = None,
    radii: float | Sequence[ArrayLike] | Array | None = None,
    max_steps: int | None = None,
    partial: bool = False,
    rest: bool = True,
    seed: Seed = None,
    progress: bool = False,
    threads: int | None = None,
) -> list[Trajectory]:
    """Simulate many independent starts of one model on all cores, each with its own steps.

    Takes a sequence of (n, d) arrays and otherwise the arguments of `simulate`. `radii` is one
    number for all tokens, or a sequence with an entry for each start, a number or an (n,) array.
    The result is the same to the last bit for any number of `threads`. If the model has noise, each
    run has a seed of its own, derived from `seed` and the index of the run.

    Examples
    --------
    >>> import parkade as pk
    >>> starts = [pk.sphere.uniform(20, 2, seed=s) for s in range(3)]
    >>> [len(run.final) for run in pk.simulate_many(pk.Attention(d=2, beta=9), starts, 10.0)]
    [20, 20, 20]
    """
    tol = default_tol(model) if tol is None else tol
    options = Options(
        t_end, times, tol, method, sums, frozen, frozen_weights, max_steps, partial, rest
    )
    solver = Solver(model if schedule is None else Scheduled(model, schedule), options)
    common = new_seed(seed) if solver.problem.noisy or seed is not None else 0
    starts = [check.tokens(x, model.d, name=f"tokens[{i}]") for i, x in enumerate(tokens)]
    lengths = _radii_of_each(solver.model, starts, radii)
    from parkade.engine.compile.threads import cores

    workers = cores() if threads is None else check.positive_int("threads", threads)
    cancelled = threading.Event()
    done = [0.0] * len(starts)

    with bar(f"simulating {len(starts)} runs", show=progress, remind=True) as report:

        def run(i: int) -> Trajectory:
            def note(fraction: float) -> None:
                done[i] = fraction
                report(sum(done) / len(done))

            hooks, source = Hooks(note, cancelled.is_set, alone=False), None
            if solver.problem.noisy:
                source = np.random.default_rng(np.random.SeedSequence(common, spawn_key=(i,)))
            return solver.run(starts[i], hooks, lengths[i], source)

        with ThreadPoolExecutor(workers) as pool:
            futures = [pool.submit(run, i) for i in range(len(starts))]
            try:
                finished, _ = wait(futures, return_when=FIRST_EXCEPTION)
                for future in finished:
                    future.result()  # raises the first error, not the cancellations
            finally:
                # On an error or Ctrl-C the others stop after their current chunk of steps.
                cancelled.set()
                for future in futures:
                    future.cancel()
            runs = [future.result() for future in futures]
    _warn(runs)
    return runs


def _radii_of_each(model: Model, starts: list[Array], radii: Any) -> list[ArrayLike | None]:
    """Check the radii, and return those of each start."""
    try:
        each = list(radii)
    except TypeError:  # a number, or None
        if radii is not None and starts:
            first_radii(model, 1, radii)
        return [radii] * len(starts)
    if len(each) != len(starts):
        raise InputError(
            f"radii must be a number or have one entry for each start, got {len(each)} for "
            f"{len(starts)} starts"
        )
    for i, x in enumerate(starts):
        first_radii(model, len(x), each[i], f"radii[{i}]")
    return each


def _warn(runs: list[Trajectory]) -> None:
    """Warn if a run goes on after the time until which it can be trusted."""
    doubts = (
        ("trusted_until", "rounding, not the model, may move the tokens by more than tol"),
        ("phase_known_until", "the tokens' place on their orbit is unknown, but not its shape"),
    )
    for name, doubt in doubts:
        limits = [limit for run in runs if (limit := getattr(run, name)) < run.times[-1]]
        if limits and doubts_matter():
            warnings.warn(
                f"after t={min(limits):.3g} {doubt}; see run.{name}", TrustWarning, stacklevel=3
            )
