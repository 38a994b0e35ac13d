"""`Options`: the checked options of a simulation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.model.model import Model
from parkade.solve.record import Recorder

Method: TypeAlias = Literal["auto", "explicit", "implicit"]
SumsOption: TypeAlias = Literal["auto", "direct", "harmonic"]
Times: TypeAlias = ArrayLike | Literal["steps", "final"]

TOL, NOISY_TOL = 1e-6, 1e-3
"""The default tolerances of runs without and with noise."""

_MIN_TOL, _MAX_TOL = 1e-13, 1e-2


@dataclass(frozen=True, eq=False)
class Options:
    """The options of `parkade.simulate`, which describes them.

    All input is checked and converted here, except what depends on the dimension: see
    `fixed_tokens`.
    """

    t_end: float
    times: Times = "steps"
    tol: float = 1e-6
    method: Method = "auto"
    sums: SumsOption = "auto"
    frozen: ArrayLike | None = None
    frozen_weights: ArrayLike | None = None
    max_steps: int | None = None
    partial: bool = False
    rest: bool = True

    def __post_init__(self) -> None:
        t_end, tol = check.final_time(self.t_end), check.positive("tol", self.tol)
        if not _MIN_TOL <= tol <= _MAX_TOL:
            raise InputError(f"tol must lie in [{_MIN_TOL:g}, {_MAX_TOL:g}], got {tol:g}")
        steps = self.max_steps
        self._set(
            t_end=t_end,
            tol=tol,
            method=check.choice("method", self.method, ("auto", "explicit", "implicit")),
            sums=check.choice("sums", self.sums, ("auto", "direct", "harmonic")),
            times=check.choice("times", self.times, ("steps", "final"))
            if isinstance(self.times, str)
            else check.times(self.times, t_end),
            max_steps=None if steps is None else check.positive_int("max_steps", steps),
        )

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True, eq=False)
class Fixed:
    """Frozen tokens, (m, d), and their weights in the sums, (m,)."""

    tokens: Array
    weights: Array


def default_tol(*models: Model) -> float:
    """The default tolerance: larger with noise, which needs many more steps for a strict one."""
    return NOISY_TOL if any(getattr(model, "noise", None) for model in models) else TOL


def fixed_tokens(options: Options, d: int) -> Fixed:
    """The frozen tokens of the options, checked for this dimension; possibly none."""
    tokens = np.empty((0, d))
    if options.frozen is not None:
        tokens = check.tokens(options.frozen, d, name="frozen")
    if options.frozen_weights is None:
        return Fixed(tokens, np.ones(len(tokens)))
    weights = check.array("frozen_weights", options.frozen_weights)
    if weights.shape != (len(tokens),):
        raise InputError(
            f"frozen_weights must be one number for each of the {len(tokens)} frozen tokens, got "
            f"shape {weights.shape}"
        )
    wrong = ~((weights > 0) & (weights <= check.LARGEST))
    if wrong.any():
        raise InputError(
            f"frozen_weights must be > 0 and at most {check.LARGEST:g}, got {weights[wrong][0]:g}"
        )
    return Fixed(tokens, weights)


@dataclass(frozen=True, eq=False)
class Problem:
    """A model and options, which can be simulated from any start.

    Attributes
    ----------
    model : Model
    options : Options
    fixed : Fixed
    start : float
        When the model begins, if it is one of several: `Options.t_end` is counted from there.
    still : bool
        Whether the frame must not rotate.
    radii : bool
        Whether states contain the lengths of tokens, which one of several models may need.
    noisy : bool
        Whether the model, or one of several models, has noise.
    seed : int
        Seed of the noise.
    piece : int
        The index of the model, if it is one of several: each has its own noise.
    switches : bool
        Whether explicit steps may take the place of implicit ones that are short.
    """

    model: Model
    options: Options
    fixed: Fixed
    start: float = 0.0
    still: bool = False
    radii: bool = False
    noisy: bool = False
    seed: int = 0
    piece: int = 0
    switches: bool = False

    @property
    def wanted(self) -> Array:
        """Times at which a step must end in a run with noise: the times to save, and t_end."""
        times, end = self.options.times, self.options.t_end
        if isinstance(times, str):
            return np.array([end])
        inside = np.asarray(times, dtype=np.float64)
        return np.append(inside[(inside > 0) & (inside < end)], end)

    @staticmethod
    def of(model: Model, options: Options) -> Problem:
        """Create a problem, after checking the model and the options against each other."""
        if not isinstance(model, Model):
            raise InputError(
                f"model must be a parkade model such as pk.Attention, got {type(model).__name__}"
            )
        fixed, noisy = fixed_tokens(options, model.d), model.noise is not None
        if noisy and options.method != "auto":
            raise InputError(
                "method must be 'auto' for a model with noise, which has an integrator of its own, "
                f"got {options.method!r}"
            )
        if noisy and options.sums == "harmonic":
            raise InputError("harmonic sums cannot be used with noise; use sums='auto'")
        return Problem(model, options, fixed, radii=model.radii, noisy=noisy)


@dataclass(frozen=True, eq=False)
class Hooks:
    """Callbacks during a run.

    Attributes
    ----------
    report : function
        Called with the fraction done, between 0 and 1.
    cancelled : function
        Whether the run should stop; called between chunks of steps.
    alone : bool
        Whether the run may use all cores.
    keep : function, optional
        Creates the recorder, instead of the one for `Options.times`.
    """

    report: Callable[[float], None] = lambda fraction: None
    cancelled: Callable[[], bool] = lambda: False
    alone: bool = True
    keep: Callable[[], Recorder] | None = None
