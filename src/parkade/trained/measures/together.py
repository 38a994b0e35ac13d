"""All measures of hidden states at once, layer by layer: each matrix of cosines is made once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.progress import Report
from parkade.base.types import Array, Seed
from parkade.model import sphere
from parkade.trained.measures.capture import capture, pulls_of
from parkade.trained.measures.centers import shares_of, squares_of
from parkade.trained.measures.cloud import CLOSE, Cosines, mean_of
from parkade.trained.measures.gaussian import Gaussian
from parkade.trained.measures.measured import Measured
from parkade.trained.measures.prepare import LONG

ENERGY = 10.0
"""The β of the energy, for all models: about that of heads with little contrast."""

ORDERS = 8
"""Orders drawn for the null of Rényi centres."""

STATES = "mean cosine"
REST = (
    "mean cosine without sinks",
    f"share of cosines > {CLOSE}",
    f"clusters (cosine > {CLOSE})",
    f"energy, β = {ENERGY:g}",
)
CENTRED = ("mean cosine, centred", "effective rank, centred")
CURVES = (STATES, REST[0], *CENTRED, *REST[1:])
"""The measures over depth: of all tokens, of those that are no sinks, and of these centred."""

KINDS = {"strong": "strong", "renyi": "Rényi"}
"""The kinds of centres, and what they are called."""
Clouds: TypeAlias = list[NDArray[Any]]
Values: TypeAlias = dict[str, Array]
Table: TypeAlias = dict[str, Measured]


@dataclass(frozen=True, eq=False)
class Together:
    """What `measure_together` measures.

    Attributes
    ----------
    sinks : list of int arrays
        Which tokens of each text are sinks.
    curves : dict of Measured
        Measures over depth, (texts, L+1).
    centers : dict of Measured
        Shares of strong and of Rényi centres, (texts, L+1); empty if nothing can be centred.
    captured : Measured or None
        The error of the nearest earlier centre as a prediction; None if texts are too short.
    pulled : Measured or None
        Whether tokens move to earlier ones, (texts, L).
    lengths : Measured
        Median length of tokens, and that of the longest over the median, (texts, L+1, 2).
    """

    sinks: list[NDArray[np.int64]]
    curves: Mapping[str, Measured]
    centers: Mapping[str, Measured]
    captured: Measured | None
    pulled: Measured | None
    lengths: Measured


def measure_together(
    texts: Sequence[NDArray[Any]],
    others: Sequence[NDArray[Any]] = (),
    *,
    draws: int = 1,
    seed: Seed = 0,
    report: Report = lambda fraction: None,
) -> Together:
    """All measures of the hidden states of texts, with their nulls.

    Parameters
    ----------
    texts : sequence of (L+1, n, d) arrays
        The states that are measured.
    others : sequence of (L+1, n, d) arrays
        States of other texts by the same model that serve for centring only. With one text and no
        others nothing can be centred, and the measures that need it are left out.
    draws : int
        Clouds drawn for each null, text and layer.
    seed : int, numpy.random.Generator or None
    report : function
        Takes the fraction done.
    """
    lengths = [_lengths(x) for x in texts]
    sinks = [_sinks(one) for one in lengths]
    keep = [np.delete(np.arange(x.shape[1]), s) for x, s in zip(texts, sinks, strict=True)]
    for i, rows in enumerate(keep):
        if len(rows) < 2:
            raise InputError(
                f"a text must have at least two tokens that are no sinks, got {len(rows)} of "
                f"{texts[i].shape[1]} in text {i + 1}; use a longer text"
            )
    plain = [np.delete(x, _sinks(_lengths(x)), axis=1) for x in others]
    layers = _Layers(texts, keep, draws, seed)
    for layer in range(len(texts[0])):
        layers.add(layer, [one[layer].astype(np.float64) for one in plain])
        report((layer + 1) / len(texts[0]))
    return Together(sinks, *layers.measured(), _length_table(lengths))


class _Layers:
    """The measures of the layers so far."""

    def __init__(
        self, texts: Sequence[NDArray[Any]], keep: Sequence[NDArray[Any]], draws: int, seed: Seed
    ) -> None:
        self.texts, self.keep, self.draws = texts, keep, draws
        self.rng = rng = check.generator(seed)
        all_sizes, sizes = [x.shape[1] for x in texts], [len(rows) for rows in keep]
        # The same tokens in each layer.
        self.chosen = [(self._chosen(all_sizes), self._chosen(sizes)) for _ in range(draws)]
        self.curves: dict[str, list[Values]] = {}
        self.normal: dict[tuple[int, int, int], NDArray[np.float32]] = {}
        self.counts: list[Array] = []
        self.pulls: list[Array] = []
        self.previous: list[Cosines] = []
        self.ends: list[Clouds] = []  # centred tokens in the first layer and in the latest
        d = texts[0].shape[2]

        def isotropic(draw: int) -> Values:
            every, few = ([sphere.uniform(n, d, rng) for n in one] for one in (all_sizes, sizes))
            return _values(every, few, few)

        self.isotropic = self._mean(isotropic)

    def _chosen(self, sizes: Sequence[int]) -> list[NDArray[np.int64]]:
        """As many of the tokens of all texts as each text has, without replacement."""
        return [np.sort(self.rng.choice(sum(sizes), n, replace=False)) for n in sizes]

    def _mean(self, drawn: Callable[[int], Values]) -> Values:
        """The mean of values over draws."""
        made = list(map(drawn, range(self.draws)))
        return {name: np.mean([one[name] for one in made], axis=0) for name in made[0]}

    def add(self, layer: int, others: Clouds) -> None:
        """Measure one layer; `others` are tokens of texts for centring only."""
        states = [x[layer].astype(np.float64) for x in self.texts]
        rest = [x[rows] for x, rows in zip(states, self.keep, strict=True)]
        free = _centred(rest, others)
        units = _unit(states, layer), _unit(rest, layer), _unit(free, layer)
        cosines = [Cosines(x @ x.T) for x in units[2]]
        self._look(units[2], cosines)
        law = Gaussian.of(np.concatenate(rest))

        def pooled(draw: int) -> Values:
            every, few = self.chosen[draw]
            rest, free = (_taken(one, few) for one in units[1:])
            return _values(_taken(units[0], every), rest, free)

        def gaussian(draw: int) -> Values:
            drawn = [
                law.of_normal(self._normal(draw, i, (len(x), law.rank))) for i, x in enumerate(rest)
            ]
            return _values([], _unit(drawn, layer), _unit(_centred(drawn, others), layer))

        made = {"text": _values(*units, cosines), "isotropic": self.isotropic}
        if len(states) > 1:
            made["pooled"] = self._mean(pooled)
        made["gaussian"] = self._mean(gaussian)
        for name, values in made.items():
            self.curves.setdefault(name, []).append(values)

    def _normal(self, draw: int, i: int, shape: tuple[int, int]) -> NDArray[np.float32]:
        """Standard normal numbers for a text, the same in each layer, for they take long."""
        key = draw, i, shape[1]
        if key not in self.normal:
            self.normal[key] = self.rng.standard_normal(shape, np.float32)
        return self.normal[key]

    def _look(self, free: Clouds, cosines: list[Cosines]) -> None:
        """Count the centres of the centred tokens, and note their pulls since the last layer."""
        if not free:
            return
        squares = map(squares_of, free, [one.matrix for one in cosines])
        self.counts.append(np.array([shares_of(one, ORDERS, self.rng) for one in squares]))
        if self.ends:
            self.pulls.append(np.array([*map(_pull, self.ends[-1], free, self.previous)]))
        self.previous = cosines
        self.ends = [*self.ends[:1], free]

    def measured(self) -> tuple[Table, Table, Measured | None, Measured | None]:
        """The curves, the centres, what they capture, and the pulls."""
        text = self.curves.pop("text")
        curves = {}
        for name in CURVES:
            if name in text[0]:
                nulls = {
                    null: np.stack([one[name] for one in rows], axis=1)
                    for null, rows in self.curves.items()
                    if name in rows[0]
                }
                curves[name] = Measured(name, np.stack([one[name] for one in text], axis=1), nulls)
        if not self.counts:
            return curves, {}, None, None
        shares = np.array(self.counts).transpose(2, 3, 1, 0)  # kind, order, text, layer
        centers = {
            kind: Measured(f"share of {title} centres", a, {"reversed": b, "permuted": c})
            for (kind, title), (a, b, c) in zip(KINDS.items(), shares, strict=True)
        }
        pulled = None
        if self.pulls:
            pulls = np.array(self.pulls).transpose(2, 1, 0)  # direction, text, layer
            pulled = Measured("pull of earlier tokens", pulls[0], {"later": pulls[1]})
        return curves, centers, self._captured(), pulled

    def _captured(self) -> Measured | None:
        try:
            return capture([np.stack(pair) for pair in zip(*self.ends, strict=True)], seed=self.rng)
        except InputError:  # no token can be judged in any text
            return None


def _values(
    states: Clouds, rest: Clouds, free: Clouds, cosines: Sequence[Cosines] | None = None
) -> Values:
    """The measures of unit vectors by name, for each text; those of clouds that are there."""
    made: dict[str, list[float]] = {}
    for x in states:
        made.setdefault(STATES, []).append(mean_of(x))
    for x in rest:
        pairs = Cosines(x @ x.T)
        numbers = (mean_of(x), pairs.close_share(), pairs.cluster_count(), pairs.energy(ENERGY))
        for name, value in zip(REST, numbers, strict=True):
            made.setdefault(name, []).append(value)
    for i, x in enumerate(free):
        pairs = Cosines(x @ x.T) if cosines is None else cosines[i]
        for name, value in zip(CENTRED, (mean_of(x), pairs.rank()), strict=True):
            made.setdefault(name, []).append(value)
    return {name: np.array(values) for name, values in made.items()}


def _taken(clouds: Clouds, chosen: list[NDArray[np.int64]]) -> Clouds:
    """These tokens of all clouds together; nothing if there are no clouds."""
    pool = np.concatenate(clouds) if clouds else None
    return [] if pool is None else [pool[rows] for rows in chosen]


def _centred(rest: Clouds, others: Clouds) -> Clouds:
    """The tokens of each text minus the mean of all other texts; nothing if there are none."""
    if len(rest) + len(others) < 2:
        return []
    sums, counts = [x.sum(axis=0) for x in rest], [len(x) for x in rest]
    total = np.sum([*sums, *(x.sum(axis=0) for x in others)], axis=0)
    many = sum(counts) + sum(map(len, others))
    return [
        x - (total - own) / (many - count) for x, own, count in zip(rest, sums, counts, strict=True)
    ]


def _unit(clouds: Clouds, layer: int) -> Clouds:
    """The directions of tokens; a zero vector is an error that says which token it is."""
    made = []
    for i, x in enumerate(clouds):
        lengths = np.linalg.norm(x, axis=1, keepdims=True)
        if not (lengths > 0).all():
            raise InputError(
                f"token {int(np.argmin(lengths))} of text {i + 1} has no direction in layer "
                f"{layer}: all entries are 0; leave it out, by attention_mask if it is padding"
            )
        made.append(x / lengths)
    return made


def _pull(x: Array, y: Array, cosines: Cosines) -> tuple[float, float]:
    """The mean pull of earlier tokens, and of later ones."""
    pulls = pulls_of(x, y, cosines.matrix)
    below = np.tril_indices(len(x), -1)
    return float(pulls[below].mean()), float(pulls.T[below].mean())


def _lengths(states: NDArray[Any]) -> Array:
    """The lengths of the tokens in each layer."""
    return np.array([np.linalg.norm(x.astype(np.float64), axis=1) for x in states])


def _sinks(lengths: Array) -> NDArray[np.int64]:
    """`find_sinks` by the lengths of the tokens."""
    middle = np.median(lengths, axis=1, keepdims=True)
    return np.flatnonzero((lengths > LONG * middle).any(axis=0))


def _length_table(lengths: Sequence[Array]) -> Measured:
    middle = [np.median(one, axis=1) for one in lengths]
    most = [one.max(axis=1) / m for one, m in zip(lengths, middle, strict=True)]
    return Measured("median length, longest over median", np.stack([middle, most], axis=-1))
