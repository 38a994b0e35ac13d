"""`Trajectory`: the result of a simulation."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.model.model import Model
from parkade.runs.interpolation import between, interpolate
from parkade.runs.path import Path
from parkade.runs.rotation import phase_known_until, turn
from parkade.runs.stats import Stats

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory(Path):
    """A simulated path: tokens over time, the cost, and how far to trust it.

    Attributes
    ----------
    times : (T,) array
        Increasing times; with ``times="steps"`` the start and the end of every step.
    tokens : (T, n, d) array
        Unit vectors at these times.
    model : Model
    stats : Stats
    frozen, frozen_weights : (m, d) and (m,) arrays
        Fixed tokens that all tokens attend to; m = 0 if there are none.
    trusted_until : float
        The time after which rounding errors may move the tokens (under full attention, with an
        MLP, if V does not attract, or from an unstable equilibrium). Infinite if the whole run
        can be trusted.
    phase_known_until : float
        The time after which the phase of a rotation is unknown, while the shape of the
        rotating configuration is still right. Infinite without a rotation.
    spin : (d, d) array
        Generator of the rotation of the frame in which the run was computed; usually zero.
    dense : (T-1, p, n, d) array or None
        Data for `at` to interpolate between steps; None if only some times were saved. There is
        one more coordinate if tokens have lengths.
    radii : (T, n) array or None
        Lengths of the tokens, if the normalisation of the model has them.

    Examples
    --------
    >>> import parkade as pk
    >>> x0 = pk.sphere.uniform(40, 2, seed=1)
    >>> run = pk.simulate(pk.Attention(d=2, beta=16.0), x0, 1e20)
    >>> run.at(75.0).shape, run.final.shape
    ((40, 2), (40, 2))
    >>> run.merge_tree().count(75.0), run.trusted_until
    (4, inf)
    >>> run.stats.method, run.stats.reason
    ('implicit', 'long causal run')
    """

    model: Model = field(kw_only=True)
    stats: Stats = field(kw_only=True)
    frozen: Array = field(kw_only=True)
    frozen_weights: Array = field(kw_only=True)
    trusted_until: float = field(kw_only=True)
    spin: Array = field(kw_only=True)
    dense: Array | None = field(kw_only=True, default=None)
    radii: Array | None = field(kw_only=True, default=None)

    def __post_init__(self) -> None:
        """Check that all numbers are finite; engines and `load` check the rest."""
        for name in ("tokens", "radii", "dense"):
            if getattr(self, name) is not None:
                check.finite(name, getattr(self, name))

    @classmethod
    def from_frame(cls, spin: Array, states: Array, *, times: Array, **fields: Any) -> Trajectory:
        """The run with these states in a frame that turns with the generator `spin`.

        A state is the tokens, (n, d), and possibly one more column, the logarithms of lengths.
        """
        tokens, logs = np.split(states, [len(spin)], axis=-1)
        radii = np.exp(logs[..., 0]) if logs.shape[-1] else None
        return cls(times=times, tokens=turn(spin, times, tokens), spin=spin, radii=radii, **fields)

    @property
    def phase_known_until(self) -> float:
        """The time after which the phase of a rotation is unknown, because its rate is rounded."""
        generator = None if self.model is None else self.model.generator
        return phase_known_until(self.spin, generator, self.stats.tol)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, {self.stats.method}, {self.stats.steps} steps)"

    def _between(self, times: Array, stored: Any) -> Array:
        """Tokens between steps, interpolated as accurately as the steps were computed.

        Noise between two steps is not stored: there, tokens move along geodesics.
        """
        if self.dense is None:
            return super()._between(times, stored)
        # In the frame that rotates with the tokens, the path is smooth.
        ends = np.union1d(stored - 1, stored)
        still = turn(-self.spin, self.times[ends], self.tokens[ends])
        last = np.searchsorted(ends, stored)
        result = np.empty((len(times), *self.tokens.shape[1:]))
        for i, end in enumerate(stored):
            since, until = self.times[end - 1 : end + 1]
            step = still[last[i] - 1], still[last[i]]
            dense = self.dense[end - 1, :, :, : self.d]
            interpolate(self.stats.method, times[i], (since, until), step, dense, result[i])
        return turn(self.spin, times, result)

    def radii_at(self, t: ArrayLike) -> Array:
        """Lengths of the tokens at any saved time, or at any time in between with dense output.

        Returns (n,) lengths for one time, (m, n) for m times; see `at`.
        """
        if self.radii is None:
            raise InputError(f"tokens have no lengths in this run of {self.model!r}")
        times = np.atleast_1d(check.array("t", t))
        self.at(times)  # checks the times
        stored = np.searchsorted(self.times, times)
        logs = np.log(self.radii)
        values = logs[stored]
        for i in np.flatnonzero(self.times[stored] != times):
            assert self.dense is not None
            end = stored[i]
            since, until = self.times[end - 1 : end + 1]
            theta = (times[i] - since) / (until - since)
            bends = self.dense[end - 1, :, :, self.d]
            values[i] = between(self.stats.method, theta, logs[end - 1], logs[end], bends)
        result: Array = np.exp(values if np.ndim(t) else values[0])
        return result

    def to_xarray(self) -> xarray.Dataset:
        """A labelled Dataset: tokens(time, token, coord), the model and the stats in attrs."""
        stats = dataclasses.asdict(self.stats)
        known = {name: value for name, value in stats.items() if value is not None}
        return super().to_xarray().assign_attrs(known)  # files of xarray have no None
