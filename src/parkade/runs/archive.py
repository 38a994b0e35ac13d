"""A run in one .npz file: what `Trajectory.save` writes, and what `load` believes."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import os
import typing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from parkade.base import check, npz
from parkade.base.errors import InputError
from parkade.base.files import atomic_write, reading
from parkade.base.types import Array
from parkade.model.attention import Attention
from parkade.runs.interpolation import DENSE
from parkade.runs.stats import Stats

if TYPE_CHECKING:
    from parkade.runs.trajectory import Trajectory

FORMAT = "parkade trajectory 1"

ARRAYS = ("times", "tokens", "frozen", "frozen_weights", "spin")

NUMBERS: dict[str, float | None] = {"trusted_until": None}
"""Times that a run carries, which may be infinite; with what they are in files without them."""

UNIT_TOLERANCE = 1e-6
"""How far from 1 the norm of a token may be in a file that somebody else wrote."""


def write(path: str | os.PathLike[str], run: Trajectory) -> None:
    """Write a run."""
    arrays: dict[str, Any] = {
        "format": FORMAT,
        "stats": json.dumps(dataclasses.asdict(run.stats)),
        "mask": run.model.mask,
        "beta": run.model.beta,
        **{name: getattr(run.model, name) for name in "QKV"},
        **{name: getattr(run, name) for name in (*ARRAYS, *NUMBERS)},
    }
    if run.dense is not None:
        arrays["dense"] = run.dense
    with atomic_write(path) as file:
        npz.write(file, arrays)


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The fields of the `Trajectory` in a file, checked against each other."""
    source = Path(path)
    remedy = "; write it again with run.save"
    with reading(source, "a parkade trajectory", remedy), source.open("rb") as file:
        data, sealed = npz.read(file, str(source))
    try:
        found = _text(data, "format")
        if found != FORMAT:
            raise InputError(f"it has the format {found!r}, this parkade reads {FORMAT!r}")
        return _fields(data, sealed)
    except InputError as error:
        raise InputError(f"{source} is not a parkade trajectory: {error}{remedy}") from None


def _fields(data: dict[str, NDArray[Any]], sealed: bool) -> dict[str, Any]:
    model = Attention(
        beta=float(_real(data, "beta", ())),
        mask=check.choice("mask", _text(data, "mask"), ("causal", "full")),
        Q=_real(data, "Q", (None, None)),
        K=_real(data, "K", (None, None)),
        V=_real(data, "V", (None, None)),
    )
    d, stats = model.d, _stats(_text(data, "stats"))
    times = check.times(_real(data, "times", (None,)), math.inf)
    fields = {
        "model": model,
        "stats": stats,
        "times": times,
        "tokens": _real(data, "tokens", (len(times), None, d)),
        "frozen": _real(data, "frozen", (None, d)),
        "spin": check.array("spin", _real(data, "spin", (d, d))),
        "dense": None,
        **{name: _number(data, name) for name in NUMBERS},
    }
    n = fields["tokens"].shape[1]
    if n == 0:
        raise InputError("tokens must hold at least one token")
    m = len(fields["frozen"])
    weights = check.array("frozen_weights", _real(data, "frozen_weights", (m,)))
    if not (weights > 0).all():
        raise InputError("frozen_weights must be > 0")
    fields["frozen_weights"] = weights
    _check_units("frozen", fields["frozen"])
    if "dense" in data:
        shape = (len(times) - 1, DENSE[stats.method], n, d)
        fields["dense"] = _real(data, "dense", shape)
    # What the checksum says is as it was written need not be looked at number by number.
    if not sealed:
        _check_units("tokens", fields["tokens"])
        if fields["dense"] is not None and not np.isfinite(fields["dense"]).all():
            raise InputError("dense must be finite")
    return fields


def _entry(data: dict[str, NDArray[Any]], name: str) -> NDArray[Any]:
    if name not in data:
        raise InputError(f"it has no {name}")
    return data[name]


def _text(data: dict[str, NDArray[Any]], name: str) -> str:
    entry = _entry(data, name)
    if entry.dtype.kind != "U" or entry.shape != ():
        raise InputError(f"{name} must be text, got {entry.dtype.name} of shape {entry.shape}")
    return str(entry)


def _real(data: dict[str, NDArray[Any]], name: str, shape: tuple[int | None, ...]) -> Array:
    """Numbers of this shape; None stands for any length."""
    entry = _entry(data, name)
    fits = entry.ndim == len(shape) and all(
        want in (None, got) for want, got in zip(shape, entry.shape, strict=True)
    )
    if entry.dtype.kind not in "fiu" or not fits:
        wanted = ", ".join("any" if length is None else str(length) for length in shape)
        raise InputError(
            f"{name} must be real numbers of shape ({wanted}), got {entry.dtype.name} of shape "
            f"{entry.shape}"
        )
    return np.asarray(entry, np.float64, order="C")


def _number(data: dict[str, NDArray[Any]], name: str) -> float:
    default = NUMBERS[name]
    if name not in data and default is not None:
        return default
    value = float(_real(data, name, ()))
    if not value >= 0:
        raise InputError(f"{name} must be ≥ 0, got {value}")
    return value


def _check_units(name: str, x: Array) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.square(x) @ np.ones(x.shape[-1])
    if not (np.abs(squares - 1) <= 2 * UNIT_TOLERANCE).all():  # NaN is not, either
        raise InputError(f"{name} must be unit vectors")


_hints = functools.cache(typing.get_type_hints)


def _stats(text: str) -> Any:
    """What `Trajectory.stats` says, every field of its type."""
    try:
        stats = Stats(**json.loads(text))
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(f"stats cannot be read ({check.reason(error)})") from None
    for name, kind in _hints(Stats).items():
        value = getattr(stats, name)
        if kind is float and type(value) is int:
            continue
        if not isinstance(value, kind) or value != value:
            raise InputError(f"{name} of stats must be of type {kind.__name__}, got {value!r}")
    check.choice("method of stats", stats.method, tuple(DENSE))
    return stats
