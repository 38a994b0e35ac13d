"""A survey of the hidden states of a trained model over several texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkade.base.errors import InputError
from parkade.base.progress import Report
from parkade.base.types import Array
from parkade.engine.compile.threads import single_threaded_blas
from parkade.trained import measures as ms
from parkade.trained.measures.cloud import CLOSE
from parkade.trained.measures.measured import Measured
from parkade.trained.model import Trained

ENERGY = 10.0
"""The β of the energy, for all models: about that of heads with little contrast."""


@dataclass(frozen=True, eq=False)
class Survey:
    """What the hidden states of texts show.

    Attributes
    ----------
    model : str
        Its name.
    words : list of lists of str
        The tokens of each text.
    sinks : list of int arrays
        Which tokens of each text are sinks; they are left out where a measure says so.
    curves : dict of Measured
        Measures over depth, (texts, L+1).
    centers : dict of Measured
        Shares of strong and of Rényi centres, (texts, L+1), centred and without sinks.
    captured : Measured
        The error of the nearest earlier centre as a prediction, (texts,).
    pulled : Measured
        Whether tokens move to earlier ones, (texts, L).
    attention : Measured
        Attention of later tokens to the first one, mean over heads, (texts, L).
    sink_heads : Array
        Share of heads in each layer for which that is above 0.3, mean over texts, (L,).
    lengths : Measured
        Median length of tokens, and that of the longest over the median, (texts, L+1, 2).
    losses : (texts,) array or None
        In nats for each token; None for encoders.
    """

    model: str
    words: Sequence[Sequence[str]]
    sinks: Sequence[NDArray[np.int64]]
    curves: Mapping[str, Measured]
    centers: Mapping[str, Measured]
    captured: Measured
    pulled: Measured
    attention: Measured
    sink_heads: Array
    lengths: Measured
    losses: Array | None

    @property
    def texts(self) -> int:
        """Number of texts in the survey."""
        return len(self.words)

    def to_dict(self) -> dict[str, Any]:
        """All numbers, for JSON."""
        measured = {"captured": self.captured, "pulled": self.pulled, "attention": self.attention}
        return {
            "model": self.model,
            "texts": self.texts,
            "tokens": [len(words) for words in self.words],
            "sinks": [indices.tolist() for indices in self.sinks],
            "losses": None if self.losses is None else self.losses.tolist(),
            "curves": {name: one.to_dict() for name, one in self.curves.items()},
            "centers": {name: one.to_dict() for name, one in self.centers.items()},
            **{name: one.to_dict() for name, one in measured.items()},
            "sink_heads": self.sink_heads.tolist(),
            "lengths": self.lengths.to_dict(),
        }


def clouds(states: Sequence[Array]) -> tuple[list[NDArray[np.int64]], list[Array], list[Array]]:
    """The sinks of each text, and its states without them: as they are, and centred."""
    sinks = [ms.find_sinks(x) for x in states]
    rest = [ms.without_tokens(x, dropped) for x, dropped in zip(states, sinks, strict=True)]
    return sinks, rest, ms.centred(rest)


def survey(
    model: Trained,
    texts: Sequence[str],
    *,
    draws: int = 2,
    seed: int = 0,
    report: Report = lambda fraction: None,
) -> Survey:
    """Read texts with a model and measure their hidden states.

    Parameters
    ----------
    model : Trained
    texts : sequence of str
        At least two: each is centred by the mean of the others.
    draws : int
        Clouds drawn for each null, text and layer.
    seed : int
    report : function
        Takes the fraction done.
    """
    if len(texts) < 2:
        raise InputError(f"a survey needs at least two texts, got {len(texts)}; add others")
    states, words, losses, shares, seen = [], [], [], [], []
    with single_threaded_blas():  # matrices are small, and threads would wait for each other
        for i, text in enumerate(texts):
            read = model.read(clipped(model, text))
            states.append(read.hidden.astype(np.float64))
            words.append(read.words)
            losses.append(read.loss)
            scores, even = _to_first(model, read.hidden)
            seen.append((scores.mean(axis=1), np.full(len(scores), even)))
            shares.append([ms.sink_share(row) for row in scores])
            report(0.5 * (i + 1) / len(texts))
        sinks, rest, free = clouds(states)
        curves: dict[str, Measured] = {}
        for i, (name, (measure, layers)) in enumerate(_curves(states, rest, free).items()):
            curves[name] = ms.over_depth(name, measure, layers, draws=draws, seed=seed)
            report(0.5 + 0.05 * (i + 1))
        centers = {
            "strong": ms.center_counts(free),
            "renyi": ms.center_counts(free, kind="renyi", draws=4 * draws, seed=seed),
        }
        captured, pulled = ms.capture(free, seed=seed), ms.earlier_pull(free)
    report(1.0)
    return Survey(
        model=model.name,
        words=words,
        sinks=sinks,
        curves=curves,
        centers=centers,
        captured=captured,
        pulled=pulled,
        attention=Measured(
            "attention to the first token",
            np.array([one for one, _ in seen]),
            {"even": np.array([one for _, one in seen])},
        ),
        sink_heads=np.mean(shares, axis=0),
        lengths=_lengths(states),
        losses=None if any(x is None for x in losses) else np.array(losses, dtype=np.float64),
    )


def clipped(model: Trained, text: str, most: int | None = None) -> list[int]:
    """The ids of a text, as many as the model reads."""
    longest = model.shape.longest if most is None else min(most, model.shape.longest)
    return model.encode(text)[:longest]


def _curves(states: list[Array], rest: list[Array], free: list[Array]) -> dict[str, Any]:
    """The measures over depth by name, each with the states that it sees."""
    return {
        "mean cosine": (ms.mean_cosine, states),
        "mean cosine without sinks": (ms.mean_cosine, rest),
        "mean cosine, centred": (ms.mean_cosine, free),
        "effective rank, centred": (ms.effective_rank, free),
        f"share of cosines > {CLOSE}": (ms.close_share, rest),
        f"clusters (cosine > {CLOSE})": (ms.cluster_count, rest),
        f"energy, β = {ENERGY:g}": (partial(ms.energy, beta=ENERGY), rest),
    }


def _to_first(model: Trained, hidden: NDArray[Any]) -> tuple[Array, float]:
    """Attention to the first token in each layer and head, layer by layer to save memory."""
    layers = [ms.sink_scores(model.attention_at(i, hidden[i])) for i in range(model.layers)]
    return np.array([scores for scores, _ in layers]), layers[0][1]


def _lengths(states: list[Array]) -> Measured:
    lengths = [np.linalg.norm(x, axis=2) for x in states]
    middle = [np.median(one, axis=1) for one in lengths]
    most = [one.max(axis=1) / m for one, m in zip(lengths, middle, strict=True)]
    return Measured("median length, longest over median", np.stack([middle, most], axis=-1))
