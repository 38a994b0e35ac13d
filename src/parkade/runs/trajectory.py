"""`Trajectory`: what a simulation returns, and how it is kept."""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from parkade.base import check, late
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.model.attention import Attention
from parkade.runs import archive
from parkade.runs.interpolation import interpolate
from parkade.runs.rotation import phase_known_until, turn
from parkade.runs.stats import Stats

if TYPE_CHECKING:
    import xarray

    from parkade.analysis.tree import MergeTree
    from parkade.explorer.export import Page


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Tokens over time.

    Attributes
    ----------
    model : Attention
    times : (T,) array
        Increasing times; with ``times="steps"`` the start and the end of every step.
    tokens : (T, n, d) array
        Unit vectors at these times.
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

    model: Attention
    times: Array
    tokens: Array
    stats: Stats
    frozen: Array
    frozen_weights: Array
    trusted_until: float
    spin: Array
    dense: Array | None = None

    @property
    def phase_known_until(self) -> float:
        """The time from which rounding of its rate leaves the phase of a rotation unknown."""
        return phase_known_until(self.spin, self.stats.tol)

    @property
    def final(self) -> Array:
        """The last tokens, (n, d)."""
        last: Array = self.tokens[-1]
        return last

    def __repr__(self) -> str:
        _, n, d = self.tokens.shape
        return (
            f"Trajectory({n} tokens in d={d}, t={self.times[0]:g}…{self.times[-1]:g}, "
            f"{len(self.times)} times, {self.stats.method}, {self.stats.steps} steps)"
        )

    def at(self, t: ArrayLike) -> Array:
        """Tokens at any time or times between the first and the last.

        Between steps the tokens are interpolated as accurately as the steps were computed.

        Parameters
        ----------
        t : float or (m,) array

        Returns
        -------
        (n, d) array for one time, (m, n, d) for m times.
        """
        wanted = check.array("t", t)
        times = np.atleast_1d(wanted)
        if times.ndim != 1:
            raise InputError(f"t must be a number or a 1-D array, got shape {wanted.shape}")
        outside = (times < self.times[0]) | (times > self.times[-1])
        if outside.any():
            raise InputError(
                f"t={times[outside][0]:g} lies outside the run, which goes from "
                f"{self.times[0]:g} to {self.times[-1]:g}; simulate with a larger t_end"
            )
        stored = np.searchsorted(self.times, times)  # first stored time ≥ t
        exact = self.times[stored] == times
        result = self.tokens[stored]
        if not exact.all():
            if self.dense is None:
                raise InputError(
                    f"t={times[~exact][0]:g} is not among the {len(self.times)} times this run "
                    "kept; simulate with times='steps' to interpolate between them"
                )
            # Steps are smooth where the frame turns with the tokens.
            ends = np.union1d(stored[~exact] - 1, stored[~exact])
            still = turn(-self.spin, self.times[ends], self.tokens[ends])
            last = np.searchsorted(ends, stored)
            for i in np.flatnonzero(~exact):
                since, until = self.times[stored[i] - 1 : stored[i] + 1]
                step = still[last[i] - 1], still[last[i]]
                dense = self.dense[stored[i] - 1]
                interpolate(self.stats.method, times[i], (since, until), step, dense, result[i])
            result[~exact] = turn(self.spin, times[~exact], result[~exact])
        return result if wanted.ndim else result[0]

    def merge_tree(self, radius: float | None = None, persistence: float = 2.0) -> MergeTree:
        """Who merged with whom, when; plateaus and lifetimes: see `parkade.clusters.merge_tree`."""
        return cast("MergeTree", late.call("merge_tree", self, radius, persistence))

    def show(self) -> Page:
        """The run as a page to play with: a notebook shows it, `Page.text` is one HTML file.

        It is the explorer's, with all it needs inside: no server, no network.
        """
        return cast("Page", late.call("show", self))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole run to one .npz file, which is complete or not there at all."""
        archive.write(path, self)

    def to_xarray(self) -> xarray.Dataset:
        """The run as a labelled Dataset: tokens(time, token, coord), the model in attrs."""
        import xarray

        model = self.model
        matrices = {name: json.dumps(getattr(model, name).tolist()) for name in "QKV"}
        data: dict[str, Any] = {"tokens": (("time", "token", "coord"), self.tokens)}
        if len(self.frozen):
            data["frozen"] = (("frozen_token", "coord"), self.frozen)
            data["frozen_weights"] = (("frozen_token",), self.frozen_weights)
        return xarray.Dataset(
            data,
            coords={"time": self.times, "token": np.arange(self.tokens.shape[1])},
            attrs={
                "model": repr(model),
                "beta": model.beta,
                "mask": model.mask,
                **matrices,
                "trusted_until": self.trusted_until,
                "phase_known_until": self.phase_known_until,
                **dataclasses.asdict(self.stats),
            },
        )


def load(path: str | os.PathLike[str]) -> Trajectory:
    """Read a run that `Trajectory.save` wrote.

    Nothing in the file is executed: it holds plain arrays, no pickles. Damage is noticed: the
    file has checksums, and its arrays must fit each other and the model.
    """
    return Trajectory(**archive.read(path))
