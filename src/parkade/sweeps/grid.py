"""The parameters of an ensemble: one value each, or several, which form an axis of the grid."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from parkade.base import check
from parkade.base.errors import InputError
from parkade.model.model import REGISTRY, Model, from_dict
from parkade.model.parts import mask as masks
from parkade.model.parts import norm as norms
from parkade.model.parts.noise import Noise
from parkade.sweeps import laws

MATRICES = ("V", "Q", "K")
LABELLED = ("model", *MATRICES, "start")
"""Parameters whose values are not numbers: their axes have labels."""

SEPARATIONS = ("c", "delta")
"""The separation of centres; a grid has exactly one of these."""

CLUSTERS = ("cluster_radius",)
"""The radius of clusters; a grid has it only if the user sets it."""

OBSERVERS = (*SEPARATIONS, *CLUSTERS)
"""Parameters that change what is measured, not what is simulated."""

_LONGEST, _LONGEST_NAME = 100_000, 100  # values of one parameter; characters of a name

ATTENTION = ("beta", *MATRICES, "mask")
"""Parameters that make an `Attention`; a grid has these or models of another kind."""

PARTS = ("norm", "heads", "d_head", "mlp", "noise")
"""Parameters of a `Transformer` beyond these; a grid has only those that are not defaults."""

DEFAULTS = {"norm": "post", "mlp": 0, "noise": math.inf}

PARAMETERS = ("model", "beta", "n", "d", *MATRICES, "mask", *PARTS, "start", *OBSERVERS)


@dataclass(frozen=True)
class Axis:
    """The values of a parameter as JSON data, and their labels."""

    values: tuple[Any, ...]
    labels: tuple[Any, ...]
    swept: bool

    def data(self) -> Any:
        """The axis as JSON data: a value, a list of values, or a dictionary {label: value}."""
        if not self.swept:
            return self.values[0]
        if self.labels == self.values:
            return list(self.values)
        return dict(zip(self.labels, self.values, strict=True))


def from_data(name: str, data: Any) -> Axis:
    """The axis described by `data`: the inverse of `Axis.data`."""
    if name in LABELLED:
        swept = isinstance(data, dict) and not (name == "model" and "kind" in data)
        return Axis(tuple(data.values()), tuple(data), True) if swept else fixed(name, data)
    return Axis(tuple(data), tuple(data), True) if isinstance(data, list) else fixed(name, data)


def fixed(name: str, value: Any) -> Axis:
    """An axis with one value."""
    return Axis((value,), (_label(name, value),), False)


def axis(name: str, value: Any, d: int | None = None) -> Axis:
    """The axis of the user's values of a parameter, checked; matrices for dimension `d`."""

    def checked(entry: Any) -> Any:
        entry = _CHECKS[name](entry)
        return laws.simplest(name, entry, d) if name in MATRICES and d is not None else entry

    if isinstance(value, Mapping) and not (name == "model" and "kind" in value):
        if name not in LABELLED:
            raise InputError(f"{name} must be one value or a list, got {check.brief(value)}")
        values = tuple(checked(v) for v in value.values())
        labels = tuple(str(key) for key in value)
        for key in labels:
            if not (key.isprintable() and len(key) <= _LONGEST_NAME):
                raise InputError(
                    f"the names of {name} must be printable and have at most {_LONGEST_NAME} "
                    f"characters, got {check.brief(key)}"
                )
    elif (entries := _entries(name, value)) is None:
        return fixed(name, checked(value))
    else:
        if entries[_LONGEST:]:  # a range may be too long for len()
            raise InputError(f"{name} must have at most {_LONGEST} values, got more")
        values = tuple(checked(v) for v in entries)
        labels = tuple(_label(name, v) for v in values)
    if not values:
        raise InputError(f"{name} must have at least one value, got an empty list")
    seen = set()
    for entry, label in zip(map(_hashable, values), labels, strict=True):
        if entry in seen:
            raise InputError(f"{name} must have different values, but {label} appears twice")
        seen.add(entry)
    return Axis(values, _distinct(labels), True)


def _entries(name: str, value: Any) -> Sequence[Any] | None:
    """The values in a list; None if `value` is a single one."""
    if name == "model":
        return value if isinstance(value, (list, tuple)) else None
    if name == "start":
        return None if laws.is_start(value) or not isinstance(value, (list, tuple)) else value
    if name not in MATRICES:
        if isinstance(value, np.ndarray) and value.ndim:
            return list(value.tolist())
        return value if isinstance(value, (list, tuple, range)) else None
    if not isinstance(value, (list, tuple)) or (value and all(map(_real, value))):
        return None  # a number, an array, a diagonal
    rows = [v for v in value if isinstance(v, (list, tuple)) and all(map(_real, v))]
    if len(rows) == len(value) and {len(row) for row in rows} == {len(value)}:
        raise InputError(
            f"{name}={check.brief(value)} may mean one matrix or {len(value)} diagonals; pass "
            f"numpy.array({name}) for a matrix, or give names: {{'a': {check.brief(rows[0])}, …}}"
        )
    return value


def _real(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating))


def _hashable(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple((key, _hashable(item)) for key, item in value.items())
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def _model(value: Any) -> dict[str, Any]:
    """A model as data; the data of a model are returned unchanged."""
    if isinstance(value, Model):
        return value.to_dict()
    if isinstance(value, dict) and isinstance(value.get("kind"), str):
        return value
    raise InputError(
        f"model must be a parkade model such as pk.Attention, got {type(value).__name__}"
    )


def _norm(value: Any) -> str:
    """The name of a normalisation, checked."""
    norms.read(value)
    return str(value)


def _width(value: Any) -> int:
    """The width of an MLP; 0 for none."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= 0:
        return check.positive_int("mlp", value) if value else 0
    raise InputError(
        f"mlp must be a width, a whole number ≥ 0 with 0 for none, got {check.brief(value)}"
    )


def _noise(value: Any) -> float:
    """The κ of a noise; infinite for no noise."""
    kappa = value.kappa if isinstance(value, Noise) and not value.common else value
    if isinstance(kappa, (int, float)) and kappa == math.inf:
        return math.inf
    try:
        return Noise(kappa).kappa
    except InputError:
        raise InputError(
            f"noise must be a number κ > 0, with inf for none, got {check.brief(value)}"
        ) from None


def _cluster_radius(value: Any) -> float:
    """`value` as an angle below π."""
    radius = check.positive("cluster_radius", value)
    if radius >= math.pi:
        raise InputError(f"cluster_radius must be an angle below π, got {radius:g}; try 0.1")
    return radius


_CHECKS: dict[str, Callable[[Any], Any]] = {
    "model": _model,
    "beta": check.beta,
    "n": partial(check.positive_int, "n"),
    "d": check.dimension,
    **{name: partial(laws.matrix, name) for name in MATRICES},
    "mask": lambda value: str(masks.read(value)),
    "norm": _norm,
    "heads": partial(check.positive_int, "heads"),
    "d_head": partial(check.positive_int, "d_head"),
    "mlp": _width,
    "noise": _noise,
    "start": laws.start,
    "c": partial(check.positive, "c"),
    "delta": partial(check.positive, "delta"),
    "cluster_radius": _cluster_radius,
}


def _label(name: str, value: Any) -> Any:
    if name == "model":
        # The module that defines the kind may not be imported here.
        return from_dict(value).label if value["kind"] in REGISTRY else value["kind"]
    if name in MATRICES:
        return laws.matrix_label(value)
    return laws.start_label(value) if name == "start" else value


def _distinct(labels: tuple[Any, ...]) -> tuple[Any, ...]:
    """The labels made unique: equal ones get a number."""
    count = Counter(labels)
    return tuple(
        f"{label} #{i + 1}" if count[label] > 1 else label for i, label in enumerate(labels)
    )
