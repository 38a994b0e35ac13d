"""Layers of trained models applied again and again, to clusters and orbits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkade.base.errors import InputError
from parkade.base.progress import Report
from parkade.engine.compile.threads import single_threaded_blas
from parkade.trained.measures.cloud import cluster_count
from parkade.trained.measures.endings import ROUNDING, SAME, Ending, ending
from parkade.trained.model import Trained
from parkade.trained.study.read import clipped

TOKENS = 64
"""Tokens of a text that are iterated at most."""

_SINGLE = 1e3  # how much wider the bounds are if the model has single precision


@dataclass(frozen=True, eq=False)
class Iterated:
    """One text under one layer, repeated.

    Attributes
    ----------
    layer : int
    text : int
        Its number.
    tokens : int
    ending : Ending or None
        None if the lengths overflowed.
    close : (times + 1,) int array
        Number of clusters over time, if tokens with a cosine above 0.9 are linked; empty if the
        lengths overflowed.
    """

    layer: int
    text: int
    tokens: int
    ending: Ending | None
    close: NDArray[np.int64]

    @property
    def sentence(self) -> str:
        """The end in a few words."""
        return "lengths overflow" if self.ending is None else self.ending.sentence

    def to_dict(self) -> dict[str, Any]:
        """All numbers, for JSON."""
        end = self.ending
        about = {"layer": self.layer, "text": self.text, "tokens": self.tokens}
        if end is None:
            return {**about, "overflows": True}
        return {
            **about,
            "clusters": list(end.clusters),
            "period": end.period,
            "error": end.error,
            "since": end.since,
            "close": int(self.close[-1]),
        }


def chosen_layers(model: Trained) -> tuple[int, ...]:
    """The only layer of a tied model; else the first, the middle and the last."""
    if model.shape.distinct == 1:
        return (0,)
    return tuple(sorted({0, model.layers // 2, model.layers - 1}))


def iterations(
    model: Trained,
    texts: Sequence[str],
    times: int,
    *,
    layers: Sequence[int] | None = None,
    report: Report = lambda fraction: None,
) -> list[Iterated]:
    """Apply layers to the tokens of texts again and again, and say how that ends.

    Parameters
    ----------
    model : Trained
        Orbits are found to rounding, so load it with ``dtype="float64"``.
    texts : sequence of str
        The first 64 tokens of each are used.
    times : int
        Number of times that a layer is applied; the tokens start as they enter it.
    layers : sequence of int, optional
        The only one of a tied model, or the first, the middle and the last.
    report : function
        Takes the fraction done.
    """
    which = chosen_layers(model) if layers is None else layers
    wide = 1.0 if model.dtype == np.float64 else _SINGLE
    iterated = []
    with single_threaded_blas():
        for i, text in enumerate(texts):
            read = model.read(clipped(model, text, TOKENS))
            for j, layer in enumerate(which):
                start = read.hidden[model.number(layer)]
                end, close = None, np.empty(0, dtype=np.int64)
                try:
                    path = model.iterate(start, layer, times)
                except InputError as error:
                    if "overflow" not in str(error):
                        raise
                else:
                    end = ending(path, radius=wide * SAME, tol=wide * ROUNDING)
                    close = np.array([int(cluster_count(x)) for x in path.tokens])
                iterated.append(Iterated(layer, i, len(start), end, close))
                report((i + (j + 1) / len(which)) / len(texts))
    return iterated
