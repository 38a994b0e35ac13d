"""`Layers`: one model after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.model.model import Model, from_dict
from parkade.model.parts.depth import Resampled
from parkade.model.parts.mask import Mask
from parkade.model.parts.noise import Noise
from parkade.model.parts.norm import Mix
from parkade.model.schedule import piece_starts


class Layers(Model, kind="layers"):
    """Models that move the tokens one after the other.

    Parameters
    ----------
    times : (m,) array
        When each model begins: 0, and then increasing. The last one has no end.
    models : sequence of m models
        Any models of the same dimension.

    Examples
    --------
    >>> import parkade as pk
    >>> layers = pk.Layers([0, 10], [pk.Attention(V=[1, 1, 0]), pk.Attention(V=[0, 0, 1])])
    >>> layers.label
    '2 layers, causal mask'
    >>> run = pk.simulate(layers, pk.sphere.uniform(5, 3, seed=1), 100.0)
    >>> float(abs(run.at(10.0)[:, 2]).max()) < 1e-3, float(abs(run.final[:, 2]).min()) > 0.999
    (True, True)
    """

    def __init__(self, times: ArrayLike, models: Sequence[Model]) -> None:
        self.times = piece_starts(times)
        self.models: tuple[Model, ...] = tuple(models)
        if len(self.models) != len(self.times):
            raise InputError(
                f"models must be one for each of the {len(self.times)} times, got "
                f"{len(self.models)}"
            )
        for i, model in enumerate(self.models):
            if not isinstance(model, Model) or isinstance(model, Layers):
                raise InputError(
                    "models must be a list of models such as pk.Attention, other than pk.Layers, "
                    f"but number {i} is {check.brief(model)}"
                )
            depth = getattr(model, "depth", None)
            if isinstance(depth, Resampled):
                raise InputError(
                    f"models must not change by themselves, but number {i} has depth={depth!r}; "
                    "use that model alone"
                )
            if isinstance(getattr(model, "norm", None), Mix):
                raise InputError(
                    f"models must not change by themselves, but number {i} has norm 'mix'; use one "
                    "model with norm='post' and one with norm='pre'"
                )
            if model.d != self.models[0].d:
                raise InputError(
                    f"models must all have d={self.models[0].d}, but number {i} has d={model.d}"
                )
        self.d = self.models[0].d

    @classmethod
    def of(cls, make: Callable[[int], Model], layers: int, every: float = 1.0) -> Layers:
        """Layers made by a function of their number, each for the same time.

        Examples
        --------
        >>> import parkade as pk
        >>> resampled = pk.Layers.of(lambda i: pk.Transformer(2, d=3, seed=i), layers=12)
        >>> resampled.times[-1], resampled.at(3.5) == pk.Transformer(2, d=3, seed=3)
        (np.float64(11.0), True)
        """
        if not callable(make):
            raise InputError(
                f"make must be a function from the number of a layer to its model, got "
                f"{check.brief(make)}"
            )
        count, lasts = check.positive_int("layers", layers), check.positive("every", every)
        check.fits_in_memory(1000.0 * count, f"{count} layers", "use fewer")
        return cls(lasts * np.arange(count), [make(i) for i in range(count)])

    def __repr__(self) -> str:
        return f"Layers({self.times.tolist()}, {list(self.models)!r})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Layers)
            and np.array_equal(self.times, other.times)
            and self.models == other.models
        )

    __hash__ = None  # type: ignore[assignment]  # like all models

    def pieces(self, t_end: float = math.inf) -> Iterator[tuple[float, float, Model]]:
        """When each model begins and ends, until `t_end`, and the model."""
        ends = [*self.times[1:].tolist(), math.inf]
        for start, end, model in zip(self.times.tolist(), ends, self.models, strict=True):
            if start < t_end:
                yield start, min(end, t_end), model

    def at(self, t: float) -> Model:
        """The model at time t."""
        return self.models[max(0, int(np.searchsorted(self.times, t, side="right")) - 1)]

    @cached_property
    def triangular(self) -> bool:  # type: ignore[override]
        """Whether no token ever depends on a later one."""
        return all(model.triangular for model in self.models)

    @property
    def autonomous(self) -> bool:  # type: ignore[override]
        """Whether there is only one model, and it does not depend on the time."""
        return len(self.models) == 1 and self.models[0].autonomous

    @cached_property
    def plain(self) -> bool:  # type: ignore[override]
        """Whether all of them are."""
        return all(model.plain for model in self.models)

    @cached_property
    def radii(self) -> bool:  # type: ignore[override]
        """Whether any of them has lengths."""
        return any(model.radii for model in self.models)

    @cached_property
    def noise(self) -> Noise | None:  # type: ignore[override]
        """That of the first of them that has any."""
        return next((model.noise for model in self.models if model.noise), None)

    @cached_property
    def batched(self) -> bool:  # type: ignore[override]
        """Whether all models take many systems at once."""
        return all(model.batched for model in self.models)

    @cached_property
    def sharpness(self) -> float:  # type: ignore[override]
        """The largest sharpness of a layer."""
        return max(model.sharpness for model in self.models)

    @cached_property
    def rate(self) -> float:  # type: ignore[override]
        """The largest rate of a layer."""
        return max(model.rate for model in self.models)

    @cached_property
    def beta(self) -> float | None:  # type: ignore[override]
        """β, if it never changes."""
        beta: float | None = self._common("beta")
        return beta

    @cached_property
    def mask(self) -> Mask | None:  # type: ignore[override]
        """The mask, if it never changes."""
        mask: Mask | None = self._common("mask")
        return mask

    @cached_property
    def generator(self) -> Array | None:  # type: ignore[override]
        """The matrix V, if it never changes."""
        matrix: Array | None = self._common("generator")
        return matrix

    @cached_property
    def product(self) -> Array | None:  # type: ignore[override]
        """KᵀQ, if neither it nor β ever changes."""
        return None if self.beta is None else self._common("product")

    @cached_property
    def product_error(self) -> float:  # type: ignore[override]
        """The largest rounding error of a product KᵀQ."""
        return max(model.product_error for model in self.models)

    def _common(self, trait: str) -> Any:
        """A trait, if it is the same for all models; None otherwise."""
        first, *others = (getattr(model, trait) for model in self.models)
        return first if all(x is first or np.array_equal(x, first) for x in others) else None

    @property
    def label(self) -> str:
        """The number of layers, and the mask."""
        many = f"{len(self.models)} layer{'s' if len(self.models) > 1 else ''}"
        return many if self.mask is None else f"{many}, {self.mask} mask"

    def velocity(
        self, tokens: Any, frozen: Any = None, frozen_weights: Any = None, *, t: float = 0.0
    ) -> Any:
        """dx/dt at `tokens` by the model at time t."""
        return self.at(t).velocity(tokens, frozen, frozen_weights, t=t)

    def change(
        self, state: Any, frozen: Any = None, frozen_weights: Any = None, *, t: float = 0.0
    ) -> Any:
        """d/dt of a state by the model at time t."""
        return self.at(t).change(state, frozen, frozen_weights, t=t)

    def data(self) -> dict[str, Any]:
        """The times and the models, for files."""
        return {"times": self.times, "models": self.models}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Any:
        """The model with these layers."""
        return cls(data["times"], [from_dict(model) for model in data["models"]])
