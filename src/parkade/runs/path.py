"""`Path`: tokens over time, from anywhere."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from parkade.base import check, late
from parkade.base.constants import EPSILON
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.model import sphere
from parkade.model.model import Model

if TYPE_CHECKING:
    import xarray

    from parkade.analysis.tree import MergeTree
    from parkade.explorer.export import Page


@dataclass(frozen=True, eq=False, repr=False)
class Path:
    """Tokens over time: unit vectors at increasing times.

    The times may be any clock: the layers of a trained model, the output of another code. A
    `Trajectory`, which `simulate` returns, is a path with a model, its costs and dense output.

    Parameters
    ----------
    times : (T,) array
        Increasing, ≥ 0.
    tokens : (T, n, d) array
        Unit vectors at these times, in the order of the sequence.
    model : Model, optional
        What moved the tokens, if it is known. It gives β and the radius of clusters their
        defaults.

    Attributes
    ----------
    frozen, frozen_weights : (m, d) and (m,) arrays
        Fixed tokens everybody attends to; m = 0 without them.
    trusted_until, phase_known_until : float
        Limits of a simulation (see `Trajectory`); infinite here.
    dense : None
        There is nothing to interpolate with.

    Examples
    --------
    >>> import numpy as np
    >>> import parkade as pk
    >>> layers = np.random.default_rng(1).standard_normal((12, 50, 3))
    >>> path = pk.Path.normalized(range(12), layers)
    >>> path
    Path(50 tokens in d=3, t=0…11, 12 times)
    >>> path.merge_tree(radius=0.1).count(11) <= 50
    True
    """

    times: Array
    tokens: Array
    model: Model | None = None

    def __post_init__(self) -> None:
        times, tokens = _checked(self.times, self.tokens)
        norms = np.linalg.norm(tokens, axis=-1)
        worst = np.unravel_index(int(np.argmax(np.abs(norms - 1))), norms.shape)
        if abs(norms[worst] - 1) > check.UNIT_TOLERANCE:
            raise InputError(
                f"tokens must be unit vectors, but token {worst[1]} at time number {worst[0]} has "
                f"norm {norms[worst]:.9g} (the worst); use pk.Path.normalized(times, tokens) if "
                "their directions are what you mean"
            )
        if self.model is not None and not isinstance(self.model, Model):
            raise InputError(f"model must be a parkade model, got {check.brief(self.model)}")
        if self.model is not None and self.model.d != tokens.shape[2]:
            raise InputError(
                f"tokens must have d={self.model.d} coordinates like the model, got shape "
                f"{tokens.shape}"
            )
        object.__setattr__(self, "times", times)
        # What is normalised already keeps its bits, when it is read from a file, say.
        off = np.abs(norms - 1) > 4 * EPSILON
        object.__setattr__(self, "tokens", tokens / np.where(off, norms, 1.0)[..., None])

    @classmethod
    def normalized(cls, times: ArrayLike, tokens: ArrayLike, model: Model | None = None) -> Path:
        """A path of the directions of any vectors but zero, (T, n, d)."""
        when, vectors = _checked(times, tokens)
        return cls(when, sphere.normalize(vectors), model)

    @property
    def n(self) -> int:
        """Number of tokens."""
        return int(self.tokens.shape[1])

    @property
    def d(self) -> int:
        """Dimension of the space around the sphere."""
        return int(self.tokens.shape[2])

    @property
    def final(self) -> Array:
        """The last tokens, (n, d)."""
        last: Array = self.tokens[-1]
        return last

    # What only some simulations have; a `Trajectory` has fields instead.
    @cached_property
    def frozen(self) -> Array:
        """No fixed tokens."""
        return np.empty((0, self.d))

    @cached_property
    def frozen_weights(self) -> Array:
        """No weights."""
        return np.empty(0)

    @cached_property
    def trusted_until(self) -> float:
        """Infinite."""
        return math.inf

    @property
    def phase_known_until(self) -> float:
        """Infinite."""
        return math.inf

    @cached_property
    def spin(self) -> Array:
        """No rotation of a frame."""
        return np.zeros((self.d, self.d))

    @cached_property
    def dense(self) -> Array | None:
        """Nothing to interpolate with."""
        return None

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.n} tokens in d={self.d}, "
            f"t={self.times[0]:g}…{self.times[-1]:g}, {len(self.times)} times)"
        )

    def at(self, t: ArrayLike) -> Array:
        """Tokens at any of the times that were kept; a run with its steps has all times between.

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
        result = self.tokens[stored]
        between = np.flatnonzero(self.times[stored] != times)
        if between.size:
            result[between] = self._between(times[between], stored[between])
        return result if wanted.ndim else result[0]

    def _between(self, times: Array, stored: Any) -> Array:
        """Tokens at times that were not kept; `stored` is the index of the next one that was."""
        raise InputError(
            f"t={times[0]:g} is not among the {len(self.times)} times this run kept; simulate with "
            "times='steps' to interpolate between them"
        )

    def merge_tree(self, radius: float | None = None, persistence: float = 2.0) -> MergeTree:
        """Who merged with whom, when; plateaus and lifetimes: see `parkade.clusters.merge_tree`."""
        return cast("MergeTree", late.call("merge_tree", self, radius, persistence))

    def show(self) -> Page:
        """The path as a page to play with: a notebook shows it, `Page.text` is one HTML file.

        It is the explorer's, with all it needs inside: no server, no network.
        """
        return cast("Page", late.call("show", self))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one .npz file, which is complete or not there at all."""
        late.call("save", path, self)

    def to_xarray(self) -> xarray.Dataset:
        """A labelled Dataset: tokens(time, token, coord), the model in attrs."""
        import xarray

        data: dict[str, Any] = {"tokens": (("time", "token", "coord"), self.tokens)}
        if len(self.frozen):
            data["frozen"] = (("frozen_token", "coord"), self.frozen)
            data["frozen_weights"] = (("frozen_token",), self.frozen_weights)
        return xarray.Dataset(
            data,
            coords={"time": self.times, "token": np.arange(self.n)},
            attrs={
                **_attributes(self.model),
                "trusted_until": self.trusted_until,
                "phase_known_until": self.phase_known_until,
            },
        )


def _checked(times: ArrayLike, tokens: ArrayLike) -> tuple[Array, Array]:
    """Times and tokens that fit each other."""
    t = check.array("times", list(times) if isinstance(times, range) else times)
    x = check.array("tokens", tokens)
    if t.ndim != 1 or t.size == 0:
        raise InputError(f"times must be a non-empty 1-D array, got shape {t.shape}")
    if t[0] < 0:
        raise InputError(f"times must be ≥ 0, got {t[0]:g}; shift the clock")
    if (np.diff(t) <= 0).any():
        i = int(np.flatnonzero(np.diff(t) <= 0)[0])
        raise InputError(
            f"times must increase, but number {i + 1} is {t[i + 1]:g} after {t[i]:g}; sort them "
            "and the tokens, and leave out repeated ones"
        )
    if x.ndim != 3 or x.shape[0] != len(t) or x.shape[1] == 0:
        raise InputError(
            f"tokens must be a (T, n, d) array with T={len(t)} like times, got shape {x.shape}"
        )
    check.dimension(x.shape[2])
    return t, x


def _attributes(model: Model | None) -> dict[str, Any]:
    """A model as attributes of a Dataset: numbers and texts."""
    if model is None:
        return {}
    plain = (str, int, float)
    fields = {
        name: value if isinstance(value, plain) else json.dumps(value)
        for name, value in model.to_dict().items()
        if name != "kind"
    }
    return {"model": repr(model), **fields}


def need_path(value: Any, who: str) -> Path:
    """`value` if it is a path; `who` needs it."""
    if not isinstance(value, Path):
        raise InputError(
            f"{who} needs a run or a path, got {type(value).__name__}; pass what parkade.simulate "
            "returns, or pk.Path(times, tokens)"
        )
    return value
