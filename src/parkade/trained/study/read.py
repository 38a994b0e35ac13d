"""The survey of a trained model: texts are read, and their hidden states measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkade.base.errors import InputError
from parkade.base.numbers import counted
from parkade.base.progress import Report
from parkade.base.types import Array
from parkade.engine.compile.threads import single_threaded_blas
from parkade.trained import measures as ms
from parkade.trained import texts as library
from parkade.trained.measures.together import measure_together
from parkade.trained.model import Trained
from parkade.trained.study.hidden import HiddenText
from parkade.trained.study.survey import TOO_SHORT, Survey, surveyed


def survey(
    model: Trained,
    texts: Sequence[str],
    others: Sequence[str] = (),
    *,
    draws: int = 1,
    seed: int = 0,
    report: Report = lambda fraction: None,
) -> Survey:
    """Read texts with a model and measure their hidden states.

    Parameters
    ----------
    model : Trained
    texts : sequence of str
        The texts that are measured.
    others : sequence of str
        Texts that serve for centring only: each text is centred by the mean of all others. With
        one text there must be some.
    draws : int
        Clouds drawn for each null, text and layer.
    seed : int
    report : function
        Takes the fraction done.
    """
    if not texts or len(texts) + len(others) < 2:
        raise InputError(
            f"a survey needs at least two texts, got {len(texts) + len(others)}; add others"
        )
    hidden, losses, attended, notes = [], [], [], []
    with single_threaded_blas():  # matrices are small, and threads would wait for each other
        for i, text in enumerate(texts):
            ids, note = _whole(model, text)
            notes += [f"text {i + 1} {note}"] if note else []
            read = model.read(ids)
            hidden.append(HiddenText(read.hidden, read.words))
            losses.append(read.loss)
            attended.append(_to_first(model, read.hidden))
            report(0.5 * (i + 1) / (len(texts) + len(others)))
        plain = []
        for i, text in enumerate(others):
            plain.append(model.read(clipped(model, text)).hidden)
            report(0.5 * (len(texts) + i + 1) / (len(texts) + len(others)))
        if others:
            ours = set(others) <= {*library.texts("prose"), *library.texts("reactions")}
            which = " that ship with parkade" if ours else ""
            notes.append(
                f"{counted(len(others), 'other text')}{which} served for centring only: they were "
                "not measured"
            )
        measured = measure_together(
            [one.states for one in hidden],
            plain,
            draws=draws,
            seed=seed,
            report=lambda fraction: report(0.5 + 0.5 * fraction),
        )
    known = None if any(x is None for x in losses) else np.array(losses, dtype=np.float64)
    if measured.captured is None:
        notes.append(TOO_SHORT)
    return surveyed(model.name, hidden, measured, attended, losses=known, notes=tuple(notes))


def clipped(model: Trained, text: str, most: int | None = None) -> list[int]:
    """The ids of a text, as many as the model reads."""
    longest = model.shape.longest if most is None else min(most, model.shape.longest)
    return model.encode(text)[:longest]


def _whole(model: Trained, text: str) -> tuple[list[int], str]:
    """The ids that the model reads, and what was left out."""
    ids, longest = model.encode(text), model.shape.longest
    if len(ids) <= longest:
        return ids, ""
    return ids[:longest], (
        f"has {len(ids)} tokens, and {model.name} reads at most {longest}: the last "
        f"{len(ids) - longest} were left out"
    )


def clouds(states: Sequence[Array]) -> tuple[list[NDArray[np.int64]], list[Array], list[Array]]:
    """The sinks of each text, and its states without them: as they are, and centred."""
    sinks = [ms.find_sinks(x) for x in states]
    rest = [ms.without_tokens(x, dropped) for x, dropped in zip(states, sinks, strict=True)]
    return sinks, rest, ms.centred(rest)


def _to_first(model: Trained, hidden: NDArray[Any]) -> tuple[Array, float]:
    """Attention to the first token in each layer and head, layer by layer to save memory."""
    layers = [ms.sink_scores(model.attention_at(i, hidden[i])) for i in range(model.layers)]
    return np.array([scores for scores, _ in layers]), layers[0][1]
