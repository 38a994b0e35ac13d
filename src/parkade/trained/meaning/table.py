"""What every head writes and reads, measured by kurtosis beside its nulls, and named by words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from parkade.base import check
from parkade.base import progress as bars
from parkade.base.types import Array, Seed
from parkade.engine.compile.threads import single_threaded_blas
from parkade.trained.block import Floats
from parkade.trained.heads import balance, holm, kinds
from parkade.trained.meaning import kurtosis as ks
from parkade.trained.meaning.axes import ALL, HeadAxes, axes_of, matrices
from parkade.trained.meaning.vocabulary import KnownWords, known_words
from parkade.trained.meaning.words import ENDS, SPOKES, ends, wheel

if TYPE_CHECKING:
    import xarray

    from parkade.trained.model import Trained

AXES = ("writes", "reads", "negative", "singular writes", "singular reads")
"""The axes of a head: of its first eigenvalue, of the last one, and of the first singular value."""

LEVEL = 0.05
"""Words are shown where the corrected p-value is below this."""

OWN = 199
"""Random directions of each head's own range."""


@dataclass(frozen=True, eq=False)
class _Nulls:
    """Sorted kurtosis of random lines and planes, for writing and for reading rows."""

    known: KnownWords
    rng: np.random.Generator
    draws: int
    drawn: dict[tuple[str, str, int], Array] = field(default_factory=dict)

    def p(self, side: str, dimension: int, value: float) -> float:
        """The larger of the p-values against both kinds of random directions."""
        return max(float(ks.beyond(self.of(side, kind, dimension), np.array(value)))
                   for kind in ("covariant", "isotropic"))  # fmt: skip

    def of(self, side: str, kind: str, dimension: int) -> Array:
        """The kurtosis of random lines or planes, drawn when first asked for."""
        key = side, kind, dimension
        if key not in self.drawn:
            rows = rows_of(self.known, side)
            make = ks.covariant if kind == "covariant" else ks.isotropic
            self.drawn[key] = ks.drawn(rows, make(rows), dimension, self.draws, self.rng)
        return self.drawn[key]


def rows_of(known: KnownWords, axis: str) -> Floats:
    """The directions of words that an axis is compared with."""
    return known.reading if axis.endswith("reads") else known.writing


def meaning(
    model: Trained,
    layers: Sequence[int] | int | None = None,
    *,
    texts: Sequence[str] | None = None,
    draws: int | None = None,
    seed: Seed = 0,
    progress: bool = False,
) -> xarray.Dataset:
    """What each head, and the sum of the heads of each layer, writes and reads.

    Parameters
    ----------
    model : Trained
    layers : int or sequence of int, optional
        By default all; of layers that share their weights only one.
    texts : sequence of str, optional
        Texts in which words are expected: only such words count. By default parkade's.
    draws : int, optional
        Random directions of each kind; by default enough for p to reach 1/40 after correction.
    seed : int
    progress : bool
        Whether to show a bar.

    Returns
    -------
    Dataset
        With dimensions layer, head (−1 is the sum of all heads), axis (`AXES`), side (+, −).

    Variables
    ---------
    eigenvalue : complex, (layer, head)
        That with the largest real part; `last`: with the smallest one.
    kind : str
        The row of Table 1, as in `Trained.heads`.
    copying : float
        Σλ/Σ|λ|, the copying score of Elhage et al. 2021, A Mathematical Framework for Transformer
        Circuits.
    overlap : float
        Cosine between what the head writes and reads.
    basis : (layer, head, axis, plane, d)
        Orthonormal bases: of lines (the second row is 0) and of planes.
    kurtosis, p, holm, own_p : (layer, head, axis)
        Kurtosis of the words along the axis; the share of random directions with at least that,
        the larger one of two nulls (the covariance of the words, isotropic); corrected for the
        number of heads; and the share of random directions in the head's own range.
    word : str, (layer, head, axis, side, rank)
        The words at both ends of lines with holm < 0.05, farthest first; others are empty.
    cosine : float, (layer, head, axis, side, rank)
        Of each of these words with the axis.
    spoke, angle, radius : (layer, head, axis, place)
        The words around planes with holm < 0.05.
    random : (null, size, draw)
        The kurtosis of random lines and planes, for writing.

    Examples
    --------
    >>> import parkade as pk
    >>> model = pk.trained.load("ALBERT-rxn", download=True)
    >>> data = model.meaning(draws=99).sel(axis="writes")  # all layers share their weights
    >>> data["kurtosis"].shape, bool((data["p"] >= 0.01).all())
    ((1, 9), True)
    """
    with bars.bar(f"meaning in {model.name}", show=progress, remind=True) as report:
        chosen = _chosen(model, layers)
        known = known_words(model, texts, lambda fraction: report(0.2 * fraction))
        heads = [*range(model.head_count), ALL]
        count = max(999, 40 * len(chosen) * model.head_count - 1)
        rng = check.generator(seed)
        nulls = _Nulls(known, rng, count if draws is None else check.positive_int("draws", draws))
        rows: list[list[dict[str, Any]]] = []
        for i, layer in enumerate(chosen):
            with single_threaded_blas():  # threads only slow down small matrices
                rows.append([_row(model, layer, head, nulls, rng) for head in heads])
            report(0.2 + 0.8 * (i + 1) / len(chosen))
    return _dataset(model, chosen, heads, rows, nulls)


def _chosen(model: Trained, layers: Sequence[int] | int | None) -> list[int]:
    """The numbers of the layers, those that share weights once."""
    if layers is None:
        which = [model.shape.weights_of(i) for i in range(model.layers)]
        return [which.index(w) for w in dict.fromkeys(which)]
    listed = [layers] if isinstance(layers, (int, np.integer)) else list(layers)
    return sorted({model.number(layer) for layer in listed})


def _row(
    model: Trained, layer: int, head: int, nulls: _Nulls, rng: np.random.Generator
) -> dict[str, Any]:
    """The axes of a head with their kurtosis and p-values."""
    V, out = matrices(model, layer, head)
    axes = axes_of(V, out)
    bases = {name: getattr(axes, name.replace(" ", "_")) for name in AXES}
    values, p, own = [], [], []
    for name, basis in bases.items():
        rows = rows_of(nulls.known, name)
        value = float(ks.along(rows, basis[None])[0])
        values.append(value)
        p.append(nulls.p("reads" if name.endswith("reads") else "writes", len(basis), value))
        inside = V.T if name.endswith("reads") else out
        own.append(_own(rows, inside, len(basis), value, rng) if head != ALL else np.nan)
    return {"axes": axes, "bases": bases, "kurtosis": values, "p": p, "own": own}


def _own(rows: Floats, inside: Array, p: int, value: float, rng: np.random.Generator) -> float:
    """The share of random directions in the range of a head with at least this kurtosis."""
    places = rows @ np.linalg.qr(inside).Q.astype(rows.dtype)  # in the range: m numbers a word
    drawn = rng.standard_normal((OWN, p, inside.shape[1]))
    image = drawn @ np.linalg.qr(inside).R.T
    return float(ks.beyond(np.sort(ks.along(places, image)), np.array(value)))


def _dataset(
    model: Trained,
    chosen: list[int],
    heads: list[int],
    rows: list[list[dict[str, Any]]],
    nulls: _Nulls,
) -> xarray.Dataset:
    import xarray

    known, shape = nulls.known, (len(chosen), len(heads), len(AXES))
    p = np.array([[row["p"] for row in line] for line in rows])
    corrected = _corrected(p)
    bases = np.zeros((*shape, 2, model.d))
    word, cosine = np.zeros((*shape, 2, ENDS), dtype=object), np.zeros((*shape, 2, ENDS))
    spoke, angle, radius = np.zeros((*shape, SPOKES), dtype=object), *np.zeros((2, *shape, SPOKES))
    word[:], spoke[:] = "", ""
    for place in np.ndindex(shape):
        i, j, k = place
        basis = rows[i][j]["bases"][AXES[k]]
        bases[place][: len(basis)] = basis
        if corrected[place] >= LEVEL:
            continue
        sides = rows_of(known, AXES[k])
        if len(basis) == 1:
            for side, listed in enumerate(ends(sides, known.words, basis)):
                word[place][side, : len(listed)] = list(listed)
                cosine[place][side, : len(listed)] = list(listed.values())
        else:
            for at, one in enumerate(wheel(sides, known.words, basis)):
                spoke[(*place, at)] = one.word
                angle[(*place, at)], radius[(*place, at)] = one.angle, one.radius
    axes: list[list[HeadAxes]] = [[row["axes"] for row in line] for line in rows]
    spectra = [[one.spectrum for one in line] for line in axes]
    grid, each = ("layer", "head"), ("layer", "head", "axis")
    two = [nulls.of("writes", kind, n) for kind in ("covariant", "isotropic") for n in (1, 2)]
    data: dict[str, Any] = {
        "eigenvalue": (grid, _each(spectra, lambda one: one[0])),
        "last": (grid, _each(spectra, lambda one: one[np.argmin(one.real)])),
        "kind": (grid, _each(spectra, lambda one: str(kinds(one)))),
        "copying": (grid, _each(spectra, lambda one: float(balance(one)))),
        "overlap": (grid, _each(axes, lambda one: one.overlap)),
        "basis": ((*each, "plane", "d"), bases),
        "kurtosis": (each, np.array([[row["kurtosis"] for row in line] for line in rows])),
        "p": (each, p),
        "holm": (each, corrected),
        "own_p": (each, np.array([[row["own"] for row in line] for line in rows])),
        "word": ((*each, "side", "rank"), word),
        "cosine": ((*each, "side", "rank"), cosine),
        "spoke": ((*each, "place"), spoke),
        "angle": ((*each, "place"), angle),
        "radius": ((*each, "place"), radius),
        "random": (("null", "size", "draw"), np.reshape(two, (2, 2, -1))),
    }
    about = {"model": model.name, "words": len(known), "draws": nulls.draws,
             "decoded": known.decoded}  # fmt: skip
    places = {"layer": chosen, "head": heads, "axis": list(AXES), "side": ["+", "-"],
              "null": ["covariant", "isotropic"], "size": [1, 2]}  # fmt: skip
    return xarray.Dataset(data, places, about)


def _each(table: Sequence[Sequence[Any]], function: Any) -> NDArray[Any]:
    return np.array([[function(one) for one in line] for line in table])


def _corrected(p: Array) -> Array:
    """Holm's correction over heads, and over sums, for each axis by itself."""
    corrected = np.empty_like(p)
    for k in range(p.shape[2]):
        for part in (slice(None, -1), slice(-1, None)):
            block = p[:, part, k]
            corrected[:, part, k] = holm(block.ravel()).reshape(block.shape)
    return corrected
