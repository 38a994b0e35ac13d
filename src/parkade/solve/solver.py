"""`Solver`: a model with options, ready to run from any start."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import ArrayLike

from parkade.base import check
from parkade.base.errors import InaccurateSumsError, StuckError, UnfinishedError
from parkade.base.types import Array, Seed
from parkade.model.model import Model
from parkade.runs.trajectory import Trajectory
from parkade.solve.forward import first_radii
from parkade.solve.options import Hooks, Options, Problem
from parkade.solve.planning import plan as planning
from parkade.solve.planning import rules
from parkade.solve.planning.plan import Plan
from parkade.solve.record import recorder

_SEEDS = 2**63


class Solver:
    """Runs a model with checked options, from any start."""

    def __init__(self, model: Model, options: Options) -> None:
        self.problem = Problem.of(model, options)
        self._plans: dict[int, Plan] = {}

    @property
    def model(self) -> Model:
        """The model that is simulated."""
        return self.problem.model

    @property
    def options(self) -> Options:
        """The options of the simulation."""
        return self.problem.options

    def run(
        self,
        tokens: Array,
        hooks: Hooks,
        radii: ArrayLike | None = None,
        seed: Seed = None,
    ) -> Trajectory:
        """Integrate from checked tokens (n, d), with initial lengths `radii` if the model has them.

        The noise of the model comes from `seed`; None stands for a new seed.
        """
        x0 = first_state(self.model, tokens, radii)
        number = new_seed(seed) if self.problem.noisy or seed is not None else None
        plan: Plan | None = self.plan(len(x0))
        while plan is not None:
            try:
                run = self._follow(plan, x0, hooks, number)
            except InaccurateSumsError as error:
                if self.options.sums == "harmonic":
                    raise InaccurateSumsError(f"{error}; use sums='direct'") from None
                plan = planning.with_direct_sums(plan, f"run again: {error}")
                continue
            except StuckError:
                plan = self._instead(plan, len(x0))
                if plan is None:
                    raise
                continue
            plan = self._instead(plan, len(x0)) if run.stats.stopped else None
        if run.stats.stopped and not self.options.partial:
            raise UnfinishedError(run.stats.stopped)
        return run

    def plan(self, n: int) -> Plan:
        """The plan for n tokens, cached."""
        if n not in self._plans:
            check.compiler()
            self._plans[n] = planning.choose(self.problem, n)
        return self._plans[n]

    def _instead(self, plan: Plan, n: int) -> Plan | None:
        """An implicit plan for a run whose explicit steps are too short; None if impossible."""
        options = self.options
        if options.method != "auto" or plan.method != "explicit" or options.max_steps is not None:
            return None
        if not planning.can_be_implicit(self.model, n):
            return None
        implicit = dataclasses.replace(options, method="implicit")
        other = planning.choose(dataclasses.replace(self.problem, options=implicit), n)
        if other.frame.rotates:
            return None
        return dataclasses.replace(other, reason=rules.VERDICTS[rules.INSTEAD][1])

    def _follow(self, plan: Plan, x0: Array, hooks: Hooks, seed: int | None) -> Trajectory:
        from parkade.solve.integrate import integrate
        from parkade.solve.symmetry import Twins, may_break

        problem = self.problem
        if problem.noisy and seed is not None:
            problem, pieces = (
                dataclasses.replace(problem, seed=seed),
                tuple(dataclasses.replace(piece, seed=seed) for piece in plan.pieces),
            )
            plan = dataclasses.replace(plan, pieces=pieces)

        times, d = self.options.times, self.model.d
        recording = hooks.keep() if hooks.keep else recorder(times, x0, d)
        if may_break(problem, x0):
            twins = Twins(plan, problem, x0)
            stats, trusted_until = integrate(plan, problem, x0, twins.beside(recording), hooks)
            trusted_until = min(trusted_until, twins.broken_until(stats.steps, hooks))
        else:
            stats, trusted_until = integrate(plan, problem, x0, recording, hooks)
        times, tokens, dense = recording.result()
        return Trajectory.from_frame(
            plan.frame.spin,
            tokens,
            model=self.model,
            times=times,
            dense=dense,
            frozen=self.problem.fixed.tokens,
            frozen_weights=self.problem.fixed.weights,
            trusted_until=trusted_until,
            stats=stats,
        )


def new_seed(seed: Seed) -> int:
    """A seed for noise that fits into 63 bits: the argument itself, or else a random one."""
    if isinstance(seed, (int, np.integer)) and not isinstance(seed, bool) and 0 <= seed < _SEEDS:
        return int(seed)
    return int(check.generator(seed).integers(_SEEDS))


def first_state(model: Model, tokens: Array, radii: ArrayLike | None = None) -> Array:
    """The first state of a run: tokens (n, d), and their ln r in one more column if needed."""
    lengths = first_radii(model, len(tokens), radii)
    if not model.radii:
        return tokens
    return np.concatenate([tokens, np.log(lengths)[:, None]], axis=1)
