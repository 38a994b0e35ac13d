"""Input validation: every check, and its error message."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from parkade.base.errors import InputError
from parkade.base.memory import available_memory
from parkade.base.types import Array, Seed

Choice = TypeVar("Choice", bound=str)
Item = TypeVar("Item")

ASKED_FROM = 2**24
"""Allocations of at least this many bytes are checked against free memory (takes 0.1 ms)."""

LARGEST = 1e50
"""The largest β, weight or matrix entry: products of four of them, or squares of products of
two, do not overflow. A value matrix must not be smaller than its inverse, for the same reason."""

TIMES = 1e-200, 1e300
"""The shortest and the longest run: much smaller steps and sums of times stay in float64."""

_LABEL = 500  # characters

_WHOLE = 2**63 - 1  # the largest possible length of an array

NOT_FINITE = "{name} must be finite, got {got}{place}"
SHAPE = (
    "{name} must be a number, a vector of length {d} (a diagonal){more} or a {d}×{d} matrix, "
    "got shape {shape}"
)
SIZE = (
    "{name} must be 0 or have its largest entry between {low} and {high} in size, got {got}; "
    "move a factor from {name} to {other}"
)
"""Sentences about matrices, which pages without a server say too."""

UNIT_TOLERANCE = 1e-8
"""How far from 1 the norm of a token may be; within it the token is renormalised."""


def array(name: str, value: Any, expected: str = "real numbers") -> Array:
    """`value` as a float64 array of finite numbers; `expected` is for the message."""
    result: Array | None = None
    cause = ""
    try:
        raw = np.asarray(value)
        if raw.dtype.kind in "iufO":  # NumPy would also convert "1.5", True and dates
            with np.errstate(over="ignore"):  # longer floats may overflow: checked below
                result = np.array(raw, dtype=np.float64)
    except ValueError as error:  # such as rows of different lengths
        cause = f": {error}"
    except (TypeError, OverflowError, RecursionError):
        pass
    if result is None:
        raise InputError(f"{name} must be {expected}, got {brief(value)}{cause}")
    finite(name, result)
    return result


def finite(name: str, numbers: Array) -> None:
    """Raise an error if an array has a NaN or an infinity."""
    if not np.isfinite(numbers).all():
        where = np.argwhere(~np.isfinite(numbers))[0].tolist()
        place = f" at index {', '.join(map(str, where))}" if where else ""
        got = numbers[tuple(where)]
        raise InputError(NOT_FINITE.format(name=name, got=got, place=place))


def number(name: str, value: Any) -> float:
    """`value` as a finite float."""
    result = array(name, value, "a real number")
    if result.ndim != 0:
        raise InputError(f"{name} must be one number, got an array of shape {result.shape}")
    return float(result)


def positive(name: str, value: Any) -> float:
    """`value` as a finite float > 0."""
    result = number(name, value)
    if result <= 0:
        raise InputError(f"{name} must be > 0, got {result:g}")
    return result


def strength(name: str, value: Any, remedy: str = "") -> float:
    """`value` as a float from 0 to `LARGEST`."""
    result = number(name, value)
    if result < 0:
        raise InputError(f"{name} must be ≥ 0, got {result:g}{remedy and '; '}{remedy}")
    if result > LARGEST:
        raise InputError(f"{name} must be at most {LARGEST:g}, got {result:g}; use a smaller one")
    return result


def beta(value: Any) -> float:
    """`value` as an inverse temperature."""
    return strength("beta", value, "put the sign into Q or K")


def final_time(value: Any) -> float:
    """`value` as the time at which a run ends."""
    t_end = positive("t_end", value)
    if not TIMES[0] <= t_end <= TIMES[1]:
        raise InputError(
            f"t_end must lie in [{TIMES[0]:g}, {TIMES[1]:g}], got {t_end:g}; move a factor from "
            "t_end to V"
        )
    return t_end


def positive_int(name: str, value: Any) -> int:
    """`value` as an int ≥ 1."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= 1:
        if value > _WHOLE:
            raise InputError(f"{name} must be at most 2^63 − 1, got {brief(value)}")
        return int(value)
    raise InputError(f"{name} must be a whole number ≥ 1, got {brief(value)}")


def label(name: str, value: Any) -> str:
    """`value` as a text that can be shown: short, and without control characters."""
    if not isinstance(value, str) or not value.isprintable() or len(value) > _LABEL:
        raise InputError(
            f"{name} must be a text of at most {_LABEL} printable characters, got {brief(value)}"
        )
    return value


def text(value: Any, name: str = "text") -> str:
    """`value` as a text that has an encoding."""
    if not isinstance(value, str):
        raise InputError(f"{name} must be a string, got {brief(value)}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        got = f"{value[error.start]!r} at index {error.start}"
        raise InputError(f"{name} must have no lone surrogates, got {got}; remove it") from None
    return value


def dimension(value: Any) -> int:
    """`value` as a dimension d ≥ 2."""
    d = positive_int("d", value)
    if d == 1:
        raise InputError("d must be ≥ 2, got 1: for d=1 the sphere is two points, nothing moves")
    return d


def choice(name: str, value: Any, options: Sequence[Choice]) -> Choice:
    """`value` if it is one of `options`."""
    for option in options:
        if isinstance(value, str) and value == option:
            return option
    expected = ", ".join(repr(option) for option in options)
    raise InputError(f"{name} must be one of {expected}, got {brief(value)}")


def chosen(
    name: str, asked: str | Sequence[str] | None, registry: Mapping[str, Item]
) -> list[Item]:
    """The items with the given names, without duplicates; all items if None."""
    if asked is None:
        return list(registry.values())
    names = [asked] if isinstance(asked, str) else list(asked)
    return [registry[choice(name, one, tuple(registry))] for one in dict.fromkeys(names)]


def tokens(value: Any, d: int | None = None, name: str = "tokens") -> Array:
    """`value` as an (n, d) array of unit rows, n ≥ 1, d ≥ 2."""
    x = array(name, value)
    if x.ndim != 2:
        raise InputError(f"{name} must be an (n, d) array, got shape {x.shape}")
    if x.size == 0:
        raise InputError(f"{name} must have at least one token, got shape {x.shape}")
    dimension(x.shape[1])
    if d is not None and x.shape[1] != d:
        raise InputError(f"{name} must have d={d} columns like the model, got shape {x.shape}")
    with np.errstate(over="ignore"):  # an infinite norm fails the check below
        norms = np.linalg.norm(x, axis=1)
    worst = int(np.argmax(np.abs(norms - 1)))
    if abs(norms[worst] - 1) > UNIT_TOLERANCE:
        raise InputError(
            f"{name} must be unit vectors, but row {worst} has norm {norms[worst]:.9g} (the worst "
            "row); pass parkade.sphere.normalize(tokens) to use only their directions"
        )
    unit: Array = x / norms[:, None]
    return unit


def matrix(name: str, value: Any, d: int, *, low_rank: bool = False) -> Array:
    """A scalar, a vector (a diagonal) or a (d, d) matrix, as a (d, d) matrix.

    With `low_rank`, a matrix may have any number of rows.
    """
    m = array(name, value)
    fits = low_rank and m.ndim == 2 and m.shape[0] > 0 and m.shape[1] == d
    if m.ndim and m.shape not in ((d,), (d, d)) and not fits:
        any_rows = f", a matrix with {d} columns" if low_rank else ""
        raise InputError(SHAPE.format(name=name, d=d, more=any_rows, shape=m.shape))
    size = float(np.abs(m).max() if m.ndim else abs(m))
    if not (size == 0 or 1 / LARGEST <= size <= LARGEST):
        sizes = {"low": f"{1 / LARGEST:g}", "high": f"{LARGEST:g}", "got": f"{size:g}"}
        raise InputError(SIZE.format(name=name, **sizes, other=absorbs(name)))
    if m.ndim < 2:
        fits_in_memory(16.0 * d * d, f"a {d}×{d} matrix {name}", "use a smaller d")
    return np.diag(m) if m.ndim == 1 else float(m) * np.eye(d) if m.ndim == 0 else m


def absorbs(name: str) -> str:
    """What a factor of a matrix can be moved to."""
    return "t_end, which only changes the unit of time" if name == "V" else "beta"


def times(value: ArrayLike, t_end: float) -> Array:
    """Output times: a non-empty, non-decreasing 1-D array in [0, t_end]."""
    t = array("times", value)
    if t.ndim != 1 or t.size == 0:
        raise InputError(f"times must be a non-empty 1-D array, got shape {t.shape}")
    if np.any(np.diff(t) < 0):
        raise InputError("times must not decrease; pass numpy.sort(times)")
    if t[0] < 0 or t[-1] > t_end:
        raise InputError(
            f"times must lie in [0, t_end={t_end:g}], got {t[0]:g} … {t[-1]:g}; raise t_end"
        )
    return t


def generator(seed: Seed) -> np.random.Generator:
    """A numpy Generator from an int, a Generator or None."""
    if isinstance(seed, np.random.Generator):
        return seed
    if seed is None or (isinstance(seed, (int, np.integer)) and not isinstance(seed, bool)):
        if seed is not None and seed < 0:
            raise InputError(f"seed must be ≥ 0, got {brief(seed)}")
        return np.random.default_rng(seed)
    raise InputError(f"seed must be an int or a numpy Generator, got {brief(seed)}")


def fits_in_memory(size: float, what: str, remedy: str) -> None:
    """Raise if `size` bytes do not fit in the available memory."""
    if size < ASKED_FROM:
        return
    spare = available_memory()
    if size > spare:
        raise InputError(
            f"{what} needs {size / 2**30:.3g} GiB of memory, but {spare / 2**30:.3g} GiB are "
            f"available; {remedy}"
        )


def compiler() -> None:
    """Raise if Numba's compiler is disabled: every simulation needs it."""
    flag = os.environ.get("NUMBA_DISABLE_JIT", "")
    if flag.isdecimal() and int(flag):
        raise InputError(
            f"parkade needs Numba's compiler, but NUMBA_DISABLE_JIT={flag} turns it off; unset it"
        )


def brief(value: Any) -> str:
    """The `repr` of a value on one line, shortened for a message."""
    try:
        text = " ".join(repr(value).split())
    except (ValueError, RecursionError):  # an int of 5000 digits, a deeply nested list
        text = f"a huge {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def brief_json(value: Any) -> str:
    """A value as JSON, shortened for a message."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:59]}…"


def reason(error: BaseException) -> str:
    """The text of an error on one line, shortened for a message."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 120 else text[:117] + "..."
