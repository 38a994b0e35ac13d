"""Save a path to one .npz file, and load it with checks."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import os
import typing
from pathlib import Path as File
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from parkade.base import check, npz
from parkade.base.errors import InputError
from parkade.base.files import atomic_write, reading
from parkade.base.types import Array
from parkade.model import attention, flow, scheduled  # noqa: F401  kinds that may be in a file
from parkade.model.model import Model, from_dict
from parkade.runs.interpolation import DENSE
from parkade.runs.path import Path, check_radii, check_words
from parkade.runs.stats import Stats
from parkade.runs.trajectory import Trajectory

PATH, TRAJECTORY = "parkade path 2", "parkade trajectory 2"
"""Formats: a path has times, tokens and maybe a model as JSON, a trajectory all its fields."""

ARRAYS = ("frozen", "frozen_weights", "spin", "trusted_until")
"""Fields of a trajectory besides times, tokens, model, stats and dense output."""

SHORT = 2**20
"""The largest size of texts other than the model, in bytes."""

UNIT_TOLERANCE = 1e-6
"""The largest deviation of the norm of a token from 1."""

RATES = 1e-250, 1e60
"""The least and the largest rate of a rotation."""


def write(file: str | os.PathLike[str], path: Path) -> None:
    """Write a path or a trajectory to a file."""
    with atomic_write(file) as stream:
        write_to(stream, path)


def write_to(stream: BinaryIO, path: Path) -> None:
    """Write a path or a trajectory to an open file."""
    arrays: dict[str, Any] = {"format": PATH, "times": path.times, "tokens": path.tokens}
    if path.model is not None:
        arrays["model"] = json.dumps(path.model.to_dict())
    if isinstance(path, Trajectory):
        arrays["format"] = TRAJECTORY
        arrays["stats"] = json.dumps(dataclasses.asdict(path.stats))
        arrays |= {name: getattr(path, name) for name in ARRAYS}
    for name in ("dense", "radii"):
        if getattr(path, name) is not None:
            arrays[name] = getattr(path, name)
    if path.words is not None:
        arrays["words"] = json.dumps(path.words)
    npz.write(stream, arrays)


def load(file: str | os.PathLike[str]) -> Path:
    """Read a run or a path from a file written by `save`.

    Nothing in the file is executed: it contains plain arrays, no pickles. Damage is detected:
    the file has checksums, and its arrays must be consistent with each other and the model.

    Examples
    --------
    >>> import tempfile
    >>> import parkade as pk
    >>> run = pk.simulate(pk.Attention(d=2), pk.sphere.uniform(10, 2, seed=1), 5.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run.save(f"{folder}/run.npz")
    ...     same = pk.load(f"{folder}/run.npz")
    >>> bool((same.final == run.final).all())
    True
    """
    fields = read(file)
    return Trajectory(**fields) if "stats" in fields else Path(**fields)


def read(file: str | os.PathLike[str]) -> dict[str, Any]:
    """The fields of the path or trajectory in a file, checked against each other."""
    source = File(file)
    remedy = "; write it again with run.save"
    with reading(source, "a parkade trajectory", remedy), source.open("rb") as stream:
        archive = npz.Archive(stream, str(source))
        try:
            return _fields(archive)
        except InputError as error:
            raise InputError(f"{source} is not a parkade trajectory: {error}{remedy}") from None


def _fields(data: npz.Archive) -> dict[str, Any]:
    """The fields in an archive; arrays are unpacked only if their shapes fit the previous ones."""
    file_format = _text(data, "format", SHORT)
    if file_format == PATH:
        return _path(data, _model(data) if "model" in data else None)
    if file_format != TRAJECTORY:
        raise InputError(
            f"its format is {check.brief(file_format)}, this version reads {TRAJECTORY!r}"
        )
    return _trajectory(data, _model(data))


def _model(data: npz.Archive) -> Model:
    try:
        model = from_dict(json.loads(_text(data, "model")))
    except (ValueError, RecursionError) as error:
        raise InputError(f"its model cannot be read ({check.reason(error)})") from None
    if not isinstance(model, Model):
        raise InputError(f"model must be a model, got a {type(model).__name__}")
    return model


def _path(data: npz.Archive, model: Model | None) -> dict[str, Any]:
    times = check.array("times", _real(data, "times", (None,)))
    shape = (len(times), None, None if model is None else model.d)
    tokens = _tokens(data, shape)
    radii = _radii(data, *tokens.shape[:2])
    words = _words(data, tokens.shape[1])
    return {"times": times, "tokens": tokens, "model": model, "radii": radii, "words": words}


def _words(data: npz.Archive, n: int) -> tuple[str, ...] | None:
    if "words" not in data:
        return None
    try:
        words = json.loads(_text(data, "words"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"its words cannot be read ({check.reason(error)})") from None
    return check_words(words, n)


def _radii(data: npz.Archive, times: int, n: int) -> Array | None:
    if "radii" not in data:
        return None
    return check_radii(_real(data, "radii", (times, n)), (times, n))


def _tokens(data: npz.Archive, shape: tuple[int | None, ...]) -> Array:
    tokens = _real(data, "tokens", shape)
    if tokens.shape[1] == 0:
        raise InputError("tokens must have at least one token")
    check.finite("tokens", tokens)
    _check_units("tokens", tokens)
    return tokens


def _trajectory(data: npz.Archive, model: Model) -> dict[str, Any]:
    d, stats = model.d, _stats(_text(data, "stats", SHORT))
    times = check.times(_real(data, "times", (None,)), math.inf)
    tokens = _tokens(data, (len(times), None, d))
    frozen = _real(data, "frozen", (None, d))
    weights = check.array("frozen_weights", _real(data, "frozen_weights", (len(frozen),)))
    if not (weights > 0).all():
        raise InputError("frozen_weights must be > 0")
    _check_units("frozen", frozen)
    trusted = float(_real(data, "trusted_until", ()))
    if not trusted >= 0:
        raise InputError(f"trusted_until must be ≥ 0, got {trusted}")
    n, dense = tokens.shape[1], None
    radii = _radii(data, len(times), n)
    if "dense" in data:
        columns = d if radii is None else d + 1
        shape = (len(times) - 1, DENSE[stats.method], n, columns)
        dense = _real(data, "dense", shape)
        check.finite("dense", dense)
        # Steps of a late merge may be too short to change the time.
        if len(times) < 2 or times[0] != 0 or times[-1] == 0 or not (np.diff(times) >= 0).all():
            raise InputError("times of a run with dense output must increase from 0")
    return {
        "model": model,
        "stats": stats,
        "times": times,
        "tokens": tokens,
        "frozen": frozen,
        "frozen_weights": weights,
        "spin": _spin(_real(data, "spin", (d, d))),
        "trusted_until": trusted,
        "dense": dense,
        "radii": radii,
        "words": _words(data, n),
    }


def _read(data: npz.Archive, name: str, accept: npz.Accept) -> NDArray[Any]:
    if name not in data:
        raise InputError(f"it has no {name}")
    return data.read(name, accept)


def _text(data: npz.Archive, name: str, limit: float = math.inf) -> str:
    """A text of at most `limit` bytes from an archive."""

    def accept(dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        if dtype.kind != "U" or shape != ():
            raise InputError(f"{name} must be text, got {dtype.name} of shape {shape}")
        if dtype.itemsize > limit:
            raise InputError(f"{name} must have at most {limit} bytes, got {dtype.itemsize}")

    return str(_read(data, name, accept))


def _real(data: npz.Archive, name: str, shape: tuple[int | None, ...]) -> Array:
    """Real numbers of this shape from an archive; None means any length."""

    def accept(dtype: np.dtype[Any], got: tuple[int, ...]) -> None:
        fits = len(got) == len(shape) and all(
            want in (None, length) for want, length in zip(shape, got, strict=True)
        )
        if dtype.kind not in "fiu" or not fits:
            sizes = ", ".join("any" if length is None else str(length) for length in shape)
            raise InputError(
                f"{name} must be real numbers of shape ({sizes}), got {dtype.name} of shape {got}"
            )
        check.fits_in_memory(8.0 * math.prod(got), name, "it may be damaged")

    return np.asarray(_read(data, name, accept), np.float64, order="C")


def _spin(value: Array) -> Array:
    """`value` as the generator of a rotation, checked."""
    spin = check.array("spin", value)
    largest = np.abs(spin).max()
    if largest and not RATES[0] <= largest <= RATES[1]:
        raise InputError(f"spin must be 0 or have rates from {RATES[0]:g} to {RATES[1]:g}")
    if (np.abs(spin + spin.T) > UNIT_TOLERANCE * largest).any():
        raise InputError("spin must be antisymmetric")
    return spin


def _check_units(name: str, x: Array) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.square(x) @ np.ones(x.shape[-1])
    if not (np.abs(squares - 1) <= 2 * UNIT_TOLERANCE).all():  # also false for NaN
        raise InputError(f"{name} must be unit vectors")


_hints = functools.cache(typing.get_type_hints)


def _limit(name: str) -> float:
    """The bound of a number in `Stats`: seeds and times may be very large."""
    return math.inf if name in ("seed", "first_rest") else 2**63


def _stats(text: str) -> Any:
    """`Trajectory.stats` from JSON, with the type of every field checked."""
    try:
        stats = Stats(**json.loads(text))
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(f"stats cannot be read ({check.reason(error)})") from None
    for name, kind in _hints(Stats).items():
        value = getattr(stats, name)
        if kind is float and type(value) is int:
            kind = int
        if not isinstance(value, kind) or isinstance(value, bool):
            expected = getattr(kind, "__name__", str(kind))
            raise InputError(
                f"{name} of stats must be of type {expected}, got {check.brief(value)}"
            )
        if isinstance(value, str):
            check.label(f"{name} of stats", value)
        elif value is not None and not 0 <= value < _limit(name):
            raise InputError(f"{name} of stats must be ≥ 0 and < 2^63, got {check.brief(value)}")
    check.choice("method of stats", stats.method, tuple(DENSE))
    return stats
