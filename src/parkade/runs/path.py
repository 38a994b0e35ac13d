"""`Path`: tokens over time, from any source."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
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

    from parkade.explorer.standalone.export import Page
    from parkade.proof.certificate import Certificate
    from parkade.theory.merge_tree import MergeTree


@dataclass(frozen=True, eq=False, repr=False)
class Path:
    """Tokens over time: unit vectors at increasing times.

    The times can be anything that increases, such as the layers of a trained model. A
    `Trajectory`, which `simulate` returns, is a path with a model, its costs and dense output.

    Parameters
    ----------
    times : (T,) array
        Increasing, ≥ 0.
    tokens : (T, n, d) array
        Unit vectors at these times, in sequence order.
    model : Model, optional
        The model that moved the tokens, if known. It provides defaults for β and the radius
        of clusters.
    radii : (T, n) array, optional
        Lengths of the tokens at these times, > 0, if they have any.
    words : sequence of n str, optional
        The names of the tokens, such as those of a text. The explorer shows them.

    Attributes
    ----------
    frozen, frozen_weights : (m, d) and (m,) arrays
        Fixed tokens that all tokens attend to; m = 0 if there are none.
    trusted_until, phase_known_until : float
        Limits of a simulation (see `Trajectory`); infinite here.
    dense : None
        A path has no dense output.

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
    radii: Array | None = None
    words: Sequence[str] | None = None

    def __post_init__(self) -> None:
        times, tokens = _checked(self.times, self.tokens)
        if self.radii is not None:
            object.__setattr__(self, "radii", check_radii(self.radii, tokens.shape[:2]))
        if self.words is not None:
            object.__setattr__(self, "words", check_words(self.words, tokens.shape[1]))
        norms = np.linalg.norm(tokens, axis=-1)
        worst = np.unravel_index(int(np.argmax(np.abs(norms - 1))), norms.shape)
        if abs(norms[worst] - 1) > check.UNIT_TOLERANCE:
            raise InputError(
                f"tokens must be unit vectors, but token {worst[1]} at time number {worst[0]} has "
                f"norm {norms[worst]:.9g} (the worst); use pk.Path.normalized(times, tokens) to "
                "use only their directions"
            )
        if self.model is not None and not isinstance(self.model, Model):
            raise InputError(f"model must be a parkade model, got {check.brief(self.model)}")
        if self.model is not None and self.model.d != tokens.shape[2]:
            raise InputError(
                f"tokens must have d={self.model.d} coordinates like the model, got shape "
                f"{tokens.shape}"
            )
        object.__setattr__(self, "times", times)
        # Normalised tokens, for example from a file, keep their bits.
        off = np.abs(norms - 1) > 4 * EPSILON
        object.__setattr__(self, "tokens", tokens / np.where(off, norms, 1.0)[..., None])

    @classmethod
    def normalized(
        cls,
        times: ArrayLike,
        tokens: ArrayLike,
        model: Model | None = None,
        words: Sequence[str] | None = None,
    ) -> Path:
        """A path of the directions of any nonzero vectors, (T, n, d)."""
        when, vectors = _checked(times, tokens)
        return cls(when, sphere.normalize(vectors), model, words=words)

    @property
    def n(self) -> int:
        """The number of tokens."""
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

    # Defaults of what only simulations have; in a `Trajectory` these are fields.
    @cached_property
    def frozen(self) -> Array:
        """An empty array: there are no fixed tokens."""
        return np.empty((0, self.d))

    @cached_property
    def frozen_weights(self) -> Array:
        """An empty array: there are no fixed tokens."""
        return np.empty(0)

    @cached_property
    def trusted_until(self) -> float:
        """Always infinite: nothing was computed here."""
        return math.inf

    @property
    def phase_known_until(self) -> float:
        """Always infinite: nothing was computed here."""
        return math.inf

    @cached_property
    def spin(self) -> Array:
        """A zero matrix: the frame does not rotate."""
        return np.zeros((self.d, self.d))

    @cached_property
    def dense(self) -> Array | None:
        """None: there is no dense output."""
        return None

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.n} tokens in d={self.d}, "
            f"t={self.times[0]:g}…{self.times[-1]:g}, {len(self.times)} times)"
        )

    def at(self, t: ArrayLike) -> Array:
        """Tokens at any saved time, or at any time in between for a run with dense output.

        Parameters
        ----------
        t : float or (m,) array

        Returns
        -------
        (n, d) array for one time, (m, n, d) for m times.
        """
        values = check.array("t", t)
        times = np.atleast_1d(values)
        if times.ndim != 1:
            raise InputError(f"t must be a number or a 1-D array, got shape {values.shape}")
        outside = (times < self.times[0]) | (times > self.times[-1])
        if outside.any():
            raise InputError(
                f"t={times[outside][0]:g} is outside the run, which goes from "
                f"{self.times[0]:g} to {self.times[-1]:g}; simulate with a larger t_end"
            )
        stored = np.searchsorted(self.times, times)  # first stored time ≥ t
        result = self.tokens[stored]
        between = np.flatnonzero(self.times[stored] != times)
        if between.size:
            result[between] = self._between(times[between], stored[between])
        return result if values.ndim else result[0]

    def _between(self, times: Array, stored: Any) -> Array:
        """Tokens at times that were not saved; `stored` is the index of the next saved time."""
        raise InputError(
            f"t={times[0]:g} is not among the {len(self.times)} saved times; simulate with "
            "times='steps' to interpolate between them"
        )

    def merge_tree(self, radius: float | None = None, persistence: float = 2.0) -> MergeTree:
        """Merges, plateaus and lifetimes of clusters: see `parkade.clusters.merge_tree`."""
        return cast("MergeTree", late.call("merge_tree", self, radius, persistence))

    def show(
        self,
        *,
        view: str = "",
        embed: bool = False,
        live: bool = False,
        certificate: Certificate | str | os.PathLike[str] | None = None,
    ) -> Page:
        """The path as an interactive page: notebooks display it, `Page.text` is its HTML.

        It is the page of the explorer, and needs no server and no network.

        Parameters
        ----------
        view : str
            The part of an explorer link after "#", for example "t=1e13&color=position".
        embed : bool
            Whether the page has only the picture and the time line, for a frame in a text.
        live : bool
            Whether the page has controls and computes new runs by itself: of models with a single
            head and d = 2 or 3, from `sphere.uniform` with a seed below 1000.
        certificate : Certificate or path, optional
            What `certify` has proved for the same tokens: its bounds are on the time line. A file
            is checked step by step.
        """
        options = {"view": view, "embed": embed, "live": live, "certificate": certificate}
        return cast("Page", late.call("show", self, **options))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one .npz file, atomically."""
        late.call("save", path, self)

    def to_xarray(self) -> xarray.Dataset:
        """A labelled Dataset: tokens(time, token, coord), the model in attrs."""
        import xarray

        data: dict[str, Any] = {"tokens": (("time", "token", "coord"), self.tokens)}
        if self.radii is not None:
            data["radii"] = (("time", "token"), self.radii)
        if len(self.frozen):
            data["frozen"] = (("frozen_token", "coord"), self.frozen)
            data["frozen_weights"] = (("frozen_token",), self.frozen_weights)
        names = {} if self.words is None else {"word": ("token", np.array(self.words, object))}
        return xarray.Dataset(
            data,
            coords={"time": self.times, "token": np.arange(self.n), **names},
            attrs={
                **_attributes(self.model),
                "trusted_until": self.trusted_until,
                "phase_known_until": self.phase_known_until,
            },
        )


def _checked(times: ArrayLike, tokens: ArrayLike) -> tuple[Array, Array]:
    """Times and tokens, checked against each other."""
    t = check.array("times", list(times) if isinstance(times, range) else times)
    x = check.array("tokens", tokens)
    if t.ndim != 1 or t.size == 0:
        raise InputError(f"times must be a non-empty 1-D array, got shape {t.shape}")
    if t[0] < 0:
        raise InputError(f"times must be ≥ 0, got {t[0]:g}; shift them")
    if (np.diff(t) <= 0).any():
        i = int(np.flatnonzero(np.diff(t) <= 0)[0])
        raise InputError(
            f"times must increase, but number {i + 1} is {t[i + 1]:g} after {t[i]:g}; sort them "
            "and the tokens, and remove duplicates"
        )
    if x.ndim != 3 or x.shape[0] != len(t) or x.shape[1] == 0:
        raise InputError(
            f"tokens must be a (T, n, d) array with T={len(t)} like times, got shape {x.shape}"
        )
    check.dimension(x.shape[2])
    return t, x


def check_radii(value: ArrayLike, shape: tuple[int, ...]) -> Array:
    """`value` as lengths of tokens, (T, n), checked."""
    radii = check.array("radii", value)
    if radii.shape != shape or not (radii > 0).all():
        raise InputError(
            f"radii must be a {shape} array of lengths > 0 like tokens, got shape {radii.shape} "
            f"and {radii.min(initial=np.inf):g} as the least"
        )
    return radii


def check_words(value: Any, n: int) -> tuple[str, ...]:
    """`value` as the names of n tokens, checked."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InputError(f"words must be a list of strings, got {check.brief(value)}")
    if len(value) != n:
        raise InputError(f"there must be one word for each of the {n} tokens, got {len(value)}")
    return tuple(check.text(word, "a word") for word in value)


def _attributes(model: Model | None) -> dict[str, Any]:
    """A model as attributes of a Dataset: numbers and strings."""
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
    """`value`, if it is a path; `who` is the function to name in the error otherwise."""
    if not isinstance(value, Path):
        raise InputError(
            f"{who} needs a run or a path, got {type(value).__name__}; pass the result of "
            "parkade.simulate, or pk.Path(times, tokens)"
        )
    return value
