"""Parse command-line values into arrays: matrices, tokens, times and lists."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.files import reading, writable
from parkade.base.npz import read_npy
from parkade.base.types import Array
from parkade.model import matrices as text_to
from parkade.model.attention import Attention
from parkade.model.parts.head import Head
from parkade.model.parts.mlp import MLP
from parkade.model.parts.position import Alibi, Position, Rope
from parkade.model.schedule import Schedule
from parkade.model.transformer import Transformer

_SUFFIXES = (".npy", ".csv", ".txt")
_FIGURES = (".png", ".pdf", ".svg")


def check_figure(path: Path) -> None:
    """Raise an error before a run if no figure could be written to `path` after it."""
    writable(path)
    if path.suffix.lower() not in _FIGURES:
        raise InputError(f"cannot write {path}: its name must end in {', '.join(_FIGURES)}")


def table(option: str, path: Path) -> Array:
    """The numbers in a .npy, .csv (commas) or .txt (spaces) file."""
    suffix = path.suffix.lower()
    if suffix not in _SUFFIXES:
        raise InputError(f"{option} reads {', '.join(_SUFFIXES)} files, got {path}")
    what = "a NumPy array of numbers" if suffix == ".npy" else "a table of numbers"
    with reading(path, what, prefix=f"{option}: "):
        if suffix == ".npy":
            with path.open("rb") as file:
                numbers = read_npy(file, os.fstat(file.fileno()).st_size)
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # NumPy only warns about an empty file
                numbers = np.loadtxt(path, delimiter="," if suffix == ".csv" else None)
    return check.array(f"{option} ({path})", numbers)


def tokens(option: str, path: Path) -> Array:
    """An (n, d) array from a file; a single row is one token."""
    return np.atleast_2d(table(option, path))


def numbers(option: str, text: str) -> Array:
    """An array of comma-separated numbers."""
    try:
        return np.array([float(part) for part in text.split(",")])
    except ValueError:
        got = check.brief(text)
        raise InputError(f"{option} must be numbers separated by commas, got {got}") from None


def schedule(option: str, text: str) -> Schedule:
    """A schedule from pairs of a time and the inverse temperature from then on, `0:16,100:64`."""
    try:
        times, beta = zip(*(map(float, pair.split(":")) for pair in text.split(",")), strict=True)
    except ValueError:
        got = check.brief(text)
        raise InputError(f"{option} must be pairs such as 0:16,100:64, got {got}") from None
    return Schedule(times, beta)


def matrices(texts: Mapping[str, str], d: int | None) -> tuple[dict[str, Array], int]:
    """Matrices by name, as `parkade.Attention` takes them, and the dimension they imply.

    A text is a number, a diagonal `1,1,-1`, rows `0,-1;1,0`, a file, or `random:SEED`. If
    nothing determines the dimension `d`, it is 3.
    """
    result: dict[str, Array] = {}
    for name, text in texts.items():
        if not text.startswith(text_to.RANDOM):
            result[name] = _matrix(f"--{name}", text)
    if d is None:
        d = next((len(m) for m in result.values() if m.ndim), 3)
    for name, text in texts.items():
        if text.startswith(text_to.RANDOM):
            seed = text_to.whole(f"--{name} random:SEED", text.removeprefix(text_to.RANDOM))
            result[name] = text_to.seeded(name, seed, check.dimension(d))
    return result, d


def _matrix(option: str, text: str) -> Array:
    if Path(text).suffix.lower() in _SUFFIXES:
        return table(option, Path(text))
    return text_to.entries(option, text, other=f"a {', '.join(_SUFFIXES)} file ")


class Extras(NamedTuple):
    """The options of a transformer besides those of a single head."""

    norm: str
    position: str | None
    heads: int | None
    mlp: int | None
    noise: float | None = None


def model(plain: Attention, extras: Extras, seed: int) -> Transformer:
    """The model with these extras; random parts depend on the seed, but not on the tokens."""
    if extras == Extras("post", None, None, None):
        return plain
    d, rng = plain.d, np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(ord("h"),)))
    heads: Sequence[Head] = plain.heads
    if extras.heads is not None:
        if plain != Attention(d, plain.beta, mask=plain.mask):
            raise InputError("--heads makes random heads instead of Q, K and V; leave these out")
        heads = Transformer(extras.heads, d=d, beta=plain.beta, seed=rng).heads
    return Transformer(
        heads,
        mlp=None if extras.mlp is None else MLP.random(d, extras.mlp, rng),
        norm=extras.norm,
        mask=plain.mask,
        position=None if extras.position is None else _position(extras.position),
        noise=extras.noise,
    )


def _position(text: str) -> Position:
    kinds: dict[str, type[Rope | Alibi]] = {"rope": Rope, "alibi": Alibi}
    kind, _, number = text.partition(":")
    try:
        return kinds[kind](float(number))
    except (KeyError, ValueError):
        got = check.brief(text)
        raise InputError(f"--position must be rope:BASE or alibi:SLOPE, got {got}") from None


def times(text: str) -> Array | Literal["steps", "final"]:
    """Times to save: `steps`, `final`, a list, `lin:START:STOP:COUNT` or `log:...`."""
    if text == "steps":
        return "steps"
    if text == "final":
        return "final"
    kind, *fields = text.split(":")
    try:
        if kind not in ("lin", "log"):
            return np.array([float(part) for part in text.split(",")])
        start, stop = (float(field) for field in fields[:2])
        (count_text,) = fields[2:]
    except ValueError:
        raise InputError(
            "--times must be steps, final, numbers separated by commas, lin:START:STOP:COUNT "
            f"or log:START:STOP:COUNT, got {check.brief(text)}"
        ) from None
    count = check.positive_int("COUNT of --times", text_to.whole("COUNT of --times", count_text))
    check.fits_in_memory(8.0 * count, f"a list of {count} times", "use fewer")
    start, stop = check.number("START of --times", start), check.number("STOP of --times", stop)
    if kind == "lin":
        return np.linspace(start, stop, count)
    if start <= 0 or stop <= 0:
        raise InputError(f"--times log:START:STOP:COUNT needs START > 0 and STOP > 0, got {text}")
    return np.geomspace(start, stop, count)
