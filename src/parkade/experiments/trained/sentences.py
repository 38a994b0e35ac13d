"""What a report says in words: what was learned, about the texts, and what was left out."""

from __future__ import annotations

import numpy as np

from parkade.base.numbers import counted
from parkade.experiments.trained.results import ABLATED, ITERATED, StudyResults
from parkade.trained.measures.measured import Measured, least_p
from parkade.trained.study import Survey
from parkade.trained.study.iterations import TOKENS

PAPER_PULL = 0.047
"""How much more tokens move to earlier ones in the flow of the paper; the claim `leaders`."""


def learned(results: StudyResults) -> list[str]:
    """What was learned, in three sentences, each with its number and the null beside it."""
    return [_heads(results), _tokens(results.survey), _leaders(results)]


def _heads(results: StudyResults) -> str:
    balance = results.heads["balance"].values
    far = results.heads["balance_holm"].values < 0.05
    up, down = int(np.sum(far & (balance > 0))), int(np.sum(far & (balance < 0)))
    spread = float(results.heads["random_balance"].std())
    if not far.any():
        return (
            f"None of {counted(far.size, 'head')} attracts or repels beyond chance: the largest "
            f"balance Σλ/Σ|λ| is {balance.flat[np.abs(balance).argmax()]:.2f}, and 0 ± "
            f"{spread:.2f} in random heads (Holm, 5%)."
        )
    return (
        f"{int(far.sum())} of {counted(far.size, 'head')} attract or repel beyond chance: the "
        f"balance Σλ/Σ|λ| is positive in {up} and negative in {down} of them, and 0 ± {spread:.2f} "
        "in random heads (Holm, 5%)."
    )


def _tokens(survey: Survey) -> str:
    one = survey.curves["mean cosine, centred"]
    first, last = one.mean[0], one.mean[-1]
    null, what = "pooled", "tokens of all texts, pooled, have"
    if null not in one.nulls:  # one text
        null, what = "isotropic", "random directions have"
    moved = "come closer" if last > first else "come no closer"
    return (
        f"Tokens of a text {moved} over the layers: their mean cosine, centred, goes from "
        f"{_short(first)} to {_short(last)}; {what} {_short(one.null_mean(null)[-1])} in the end"
        f"{_p(one, null)}."
    )


def _leaders(results: StudyResults) -> str:
    pull = results.survey.pulled
    if results.model.causal and pull is not None:
        gaps = (pull.values - pull.nulls["later"]).mean(axis=1)
        more = float(gaps.mean())
        whole = Measured("", gaps, {"none": np.zeros_like(gaps)})
        verdict = "lead" if more > PAPER_PULL / 2 else "do not lead"
        way = "more" if more >= 0 else "less"
        return (
            f"Early tokens {verdict}: tokens move to earlier ones by {abs(more):.3f} {way} than to "
            f"later ones{_p(whole, 'none')}; in the flow of the paper by {PAPER_PULL} more."
        )
    seen = results.survey.attention
    assert seen is not None  # a trained model computes it
    layer = int(np.argmax(seen.mean))
    there = Measured("", seen.values[:, layer], {"even": seen.nulls["even"][:, layer]})
    return (
        f"The first token gets up to {float(there.mean):.2f} of the attention of the others (in "
        f"layer {layer}), and {float(there.null_mean('even')):.3f} with equal weights"
        f"{_p(there, 'even')}."
    )


def _p(one: Measured, null: str) -> str:
    """The probability in the last layer, in brackets; one text has none."""
    if one.texts < 2:
        return ""
    p, (least, name) = float(np.ravel(one.p(null))[-1]), least_p(one.texts)
    return f" (p ≤ {name})" if p < 1.001 * least else f" (p = {p:.2g})"


def _short(value: float) -> str:
    return f"{value + 0.0:.2f}".replace("-0.00", "0.00")


def floor(survey: Survey) -> str:
    """What the probabilities in the tables are, and the smallest that they can be."""
    if survey.texts < 2:
        return "There are no probabilities p: they take two texts or more."
    name = least_p(survey.texts)[1]
    return f"p: flips of sign over texts, not corrected for the number of rows; at least {name}."


def in_words(results: StudyResults) -> tuple[str, str]:
    """The model, and the texts that it has read, in a phrase each."""
    model, survey = results.model, results.survey
    kind = "causal" if model.causal else "encoder"
    loss = "" if survey.losses is None else f"; loss {survey.losses.mean():.2f} nats a token"
    return (
        f"{model.family}, {kind}, {counted(model.layers, 'layer')} of "
        f"{counted(model.head_count, 'head')}, d = {model.d}",
        f"{counted(survey.texts, 'text')}, {sum(map(len, survey.words))} tokens{loss}; "
        f"{counted(sum(map(len, survey.sinks)), 'sink')}",
    )


def left_out(results: StudyResults) -> list[str]:
    """What was left out or used otherwise, in sentences that begin with a small letter."""
    notes, count = list(results.survey.notes), results.survey.texts
    if results.ablations and count > ABLATED:
        notes.append(f"changed models read the first {ABLATED} of {count} texts, to save time")
    if results.iterated:
        few = f" of the first {ITERATED} of {count} texts" if count > ITERATED else ""
        long = sum(len(words) > TOKENS for words in results.survey.words[:ITERATED])
        if few or long:
            notes.append(f"layers are repeated on the first {TOKENS} tokens{few}, to save time")
    return notes
