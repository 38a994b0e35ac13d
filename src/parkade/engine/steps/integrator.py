"""What an integrator offers to the code that runs it: functions and constants by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from parkade.base.types import Array
from parkade.engine.system import Dims


class Goal(NamedTuple):
    """How far to go, and how carefully."""

    t_end: float
    tol: float  # largest error of a token in one step, an angle in radians
    fixed: bool = False  # every step has the size on the clock, and none is rejected


class Steps(NamedTuple):
    """The results of steps, one after the other, or empty arrays for them."""

    times: Array  # (count,): when they end
    tokens: Array  # (count, n, d): where they end
    dense: Array  # (count, Integrator.dense, n, d): what `Integrator.interpolate` needs of them


class Work(Protocol):
    """The state of a run between calls. The arrays besides the clock differ by integrator."""

    @property
    def clock(self) -> Array:
        """Numbers at the places that `clock` names."""


class Workspace(Protocol):
    """A function that makes the arrays of a run."""

    def __call__(self, n: int, d: int, *, causal: bool, stores: bool = True) -> Work:
        """Arrays for n tokens in dimension d; `stores` says whether all weights are stored."""


@dataclass(frozen=True)
class Integrator:
    """A method with adaptive steps and dense output.

    A run makes a workspace, and advances until ``work.clock[clock.TIME]`` is t_end. The functions
    take what `workspace` of the same integrator made.
    """

    name: Literal["explicit", "implicit", "splitting"]
    order: int
    stages: int  # velocities of all tokens per step
    dense: int  # arrays per step that dense output needs besides both ends
    workspace: Workspace

    # Both take a `System` or a `Field`.
    advance: Callable[[Any, Dims, Array, Any, Goal, Steps], int]
    """advance(system, dims, x, work, goal, steps): take steps until t_end or until `steps` is full.

    Updates `x` and returns how many steps it took, or -1 if the step size collapsed.
    """

    advance_on_all_cores: Callable[[Any, Dims, Array, Any, Goal, Steps], int]
    """`advance`, with the sums of large systems shared out to all cores; the same bits."""

    interpolate: Callable[[float, Array, Array, Array, Array], None]
    """interpolate(theta, start, end, dense, out): tokens at a fraction `theta` of a step.

    The step goes from `start` to `end`, both (n, d), and `dense` is its part of `Steps.dense`.
    """
