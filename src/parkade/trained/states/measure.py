"""`measure`: all measures of hidden states from any model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Seed
from parkade.engine.compile.threads import single_threaded_blas
from parkade.runs.path import check_words
from parkade.trained import measures as ms
from parkade.trained.measures.together import measure_together
from parkade.trained.states.arrays import as_array
from parkade.trained.states.final_norm import has_final_norm, lengths_in_words
from parkade.trained.states.forms import Texts, attention_of, texts_of
from parkade.trained.study.hidden import HiddenText
from parkade.trained.study.survey import TOO_SHORT, Survey, surveyed


def measure(
    states: Any,
    words: Sequence[str] | Sequence[Sequence[str]] | None = None,
    attention: Any = None,
    final_norm: Literal["auto"] | bool = "auto",
    *,
    attention_mask: Any = None,
    draws: int = 1,
    seed: Seed = 0,
) -> Survey:
    """Measure the hidden states of any model: every measure and null that needs no weights.

    Parameters
    ----------
    states : outputs, tuple, list, array or cache
        Of one text: Hugging Face's outputs or their `hidden_states`, a (layers + 1, n, d) array, a
        cache of TransformerLens, or a `Reading`. Of several texts: one of these with a batch, or a
        *list* with an entry for each text. Tensors of any library will do, on any device. A *tuple*
        of arrays has one for each layer.
    words : list of str, or a list of these for each text, optional
        The words of the tokens, for the explorer; their numbers by default.
    attention : outputs, tuple, list or array, optional
        The weights of all heads, in the same forms: Hugging Face's `attentions`, or a
        (layers, heads, n, n) array for each text. Those in outputs and caches are taken anyway.
    final_norm : "auto", True or False
        Whether the last state has been through the norm that follows the last layer, as in Hugging
        Face's hidden states of most decoders. Then it is left out. "auto" decides by the lengths
        of tokens, and `Survey.notes` say what it did.
    attention_mask : (texts, n) array, optional
        1 for tokens, 0 for padding, as tokenizers return it for a batch.
    draws : int
        Clouds drawn for each null, text and layer.
    seed : int, numpy.random.Generator or None

    Returns
    -------
    Survey
        Print it, `show` it, or take `to_dataframe`, `scalars`, `to_dict`. With one text nothing can
        be centred, so the measures that need it are left out.

    Examples
    --------
    >>> import numpy as np
    >>> import parkade as pk
    >>> rng = np.random.default_rng(0)
    >>> texts = [rng.standard_normal((7, 40, 16)).cumsum(axis=0) for _ in range(4)]
    >>> survey = pk.trained.measure(texts)
    >>> survey.curves["mean cosine, centred"].values.shape
    (4, 7)
    >>> sorted(survey.curves["mean cosine, centred"].nulls)
    ['gaussian', 'isotropic', 'pooled']
    >>> page = survey.show(0)  # the first text in the explorer
    """
    texts = texts_of(states)
    if attention is not None:
        texts.attention = attention_of(attention)
    _named(texts, words)
    if attention_mask is not None:
        _unpad(texts, attention_mask)
    _check(texts)
    notes = _end(texts, final_norm)
    hidden = [
        HiddenText(
            x,
            texts.words[i] if texts.words else [str(k) for k in range(x.shape[1])],
            texts.attention[i] if texts.attention else None,
        )
        for i, x in enumerate(texts.states)
    ]
    with single_threaded_blas():  # matrices are small, and threads would wait for each other
        measured = measure_together(
            texts.states, draws=check.positive_int("draws", draws), seed=seed
        )
        attended = [ms.sink_scores(one) for one in texts.attention]
    if len(hidden) == 1:
        notes.append(
            "one text: nothing can be centred, so the measures that need the mean of other texts "
            "were left out, and there are no probabilities"
        )
    elif measured.captured is None:
        notes.append(TOO_SHORT)
    return surveyed("", hidden, measured, attended, notes=tuple(notes))


def _named(texts: Texts, words: Any) -> None:
    """Add the user's words."""
    if words is None:
        return
    if isinstance(words, str) or not isinstance(words, Sequence):
        raise InputError(f"words must be a list of strings, got {check.brief(words)}")
    listed: list[Any] = [words] if all(isinstance(word, str) for word in words) else list(words)
    if len(listed) != len(texts.states):
        raise InputError(
            f"words must have a list for each text, got {len(listed)} for {len(texts.states)} "
            "texts; a tuple of states has one array for each layer, a list one for each text"
        )
    texts.words = listed


def _unpad(texts: Texts, mask: Any) -> None:
    """Leave out the padding of a batch."""
    rows = [as_array("attention_mask", row) != 0 for row in _rows(mask)]
    if len(rows) != len(texts.states):
        raise InputError(
            f"attention_mask must have a row for each text, got {len(rows)} for "
            f"{len(texts.states)} texts"
        )
    for i, (row, x) in enumerate(zip(rows, texts.states, strict=True)):
        if row.shape != (x.shape[1],):
            raise InputError(
                f"row {i} of attention_mask must have {x.shape[1]} numbers like the tokens of the "
                f"text, got shape {row.shape}"
            )
        texts.states[i] = x[:, row]
        if texts.words and len(texts.words[i]) == len(row):
            texts.words[i] = [w for w, real in zip(texts.words[i], row, strict=True) if real]
        if texts.attention:
            texts.attention[i] = texts.attention[i][:, :, row][..., row]


def _rows(mask: Any) -> Sequence[Any]:
    if isinstance(mask, (list, tuple)):
        return [np.asarray(row) if isinstance(row, (list, tuple)) else row for row in mask]
    whole = as_array("attention_mask", mask)
    return list(whole) if whole.ndim == 2 else [whole]


def _check(texts: Texts) -> None:
    """Check that all texts are of one model, and that words and attention belong to them."""
    depth, _, d = texts.states[0].shape
    for i, x in enumerate(texts.states):
        if (x.shape[0], x.shape[2]) != (depth, d):
            raise InputError(
                f"texts must have the layers and the dimension of one model, got shape {x.shape} "
                f"for text {i + 1} and {texts.states[0].shape} for the first"
            )
    if depth < 2 or d < 2:
        raise InputError(
            f"states of a text must have at least two layers and two dimensions, got shape "
            f"{texts.states[0].shape}; a tuple has one array for each layer, a list one for each "
            "text"
        )
    for i, words in enumerate(texts.words):
        check_words(words, texts.states[i].shape[1])
    if texts.attention and len(texts.attention) != len(texts.states):
        raise InputError(
            f"attention must be there for each text, got {len(texts.attention)} for "
            f"{len(texts.states)} texts"
        )
    for i, a in enumerate(texts.attention):
        x = texts.states[i]
        if a.shape[0] != depth - 1 or a.shape[2:] != (x.shape[1],) * 2:
            raise InputError(
                f"attention of text {i + 1} must have the shape ({depth - 1}, heads, {x.shape[1]}, "
                f"{x.shape[1]}) like its states, got {a.shape}"
            )


def _end(texts: Texts, final_norm: Any) -> list[str]:
    """Leave out the last state if it has the final norm, and say so."""
    if not isinstance(final_norm, (bool, np.bool_)) and final_norm != "auto":
        raise InputError(f"final_norm must be 'auto', True or False, got {check.brief(final_norm)}")
    auto = not isinstance(final_norm, (bool, np.bool_))
    judged = not texts.raw and has_final_norm(texts.states) if auto else bool(final_norm)
    if not judged:
        return []
    if len(texts.states[0]) < 3:
        raise InputError(
            "without the last state, which has the final norm, one state is left; pass those of "
            "all layers, or final_norm=False"
        )
    why = f" ({lengths_in_words(texts.states)}; final_norm=False keeps it)" if auto else ""
    last = len(texts.states[0]) - 1
    texts.states = [x[:-1] for x in texts.states]
    return [
        f"the state after layer {last} was left out: it has the final norm already{why}; the last "
        f"state measured is that after layer {last - 1}"
    ]
