"""`Trajectory`: what a simulation returns."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from parkade.base.types import Array
from parkade.model.model import Model
from parkade.runs.interpolation import interpolate
from parkade.runs.path import Path
from parkade.runs.rotation import phase_known_until, turn
from parkade.runs.stats import Stats

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory(Path):
    """A path that a model made: tokens over time, what they cost, and how far to trust them.

    Attributes
    ----------
    times : (T,) array
        Increasing times; with ``times="steps"`` the start and the end of every step.
    tokens : (T, n, d) array
        Unit vectors at these times.
    model : Model
    stats : Stats
    frozen, frozen_weights : (m, d) and (m,) arrays
        The fixed tokens everybody attends to; m = 0 without them.
    trusted_until : float
        The time beyond which rounding, not the model, may drive the tokens (under full
        attention, or where V does not attract; infinite where the whole run can be trusted).
    phase_known_until : float
        The time beyond which the place on an orbit is unknown, while the shape of the turning
        configuration is still right (where tokens turn for ever; infinite elsewhere).
    spin : (d, d) array
        Generator of the rotation of the frame the run was computed in; zero for most.
    dense : (T-1, p, n, d) array or None
        What `at` needs to interpolate between steps; None if only some times were kept.
    """

    model: Model = field(kw_only=True)
    stats: Stats = field(kw_only=True)
    frozen: Array = field(kw_only=True)
    frozen_weights: Array = field(kw_only=True)
    trusted_until: float = field(kw_only=True)
    spin: Array = field(kw_only=True)
    dense: Array | None = field(kw_only=True, default=None)

    def __post_init__(self) -> None:
        """Nothing is checked: engines and files know what they do."""

    @property
    def phase_known_until(self) -> float:
        """The time from which rounding of its rate leaves the phase of a rotation unknown."""
        return phase_known_until(self.spin, self.stats.tol)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, {self.stats.method}, {self.stats.steps} steps)"

    def _between(self, times: Array, stored: Any) -> Array:
        """Tokens between steps, interpolated as accurately as the steps were computed."""
        if self.dense is None:
            return super()._between(times, stored)
        # Steps are smooth where the frame turns with the tokens.
        ends = np.union1d(stored - 1, stored)
        still = turn(-self.spin, self.times[ends], self.tokens[ends])
        last = np.searchsorted(ends, stored)
        result = np.empty((len(times), *self.tokens.shape[1:]))
        for i, end in enumerate(stored):
            since, until = self.times[end - 1 : end + 1]
            step = still[last[i] - 1], still[last[i]]
            dense = self.dense[end - 1]
            interpolate(self.stats.method, times[i], (since, until), step, dense, result[i])
        return turn(self.spin, times, result)

    def to_xarray(self) -> xarray.Dataset:
        """A labelled Dataset: tokens(time, token, coord), the model and the stats in attrs."""
        return super().to_xarray().assign_attrs(dataclasses.asdict(self.stats))
