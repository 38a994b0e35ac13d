"""The words that a trained model knows, as directions: what heads write and read is named by them.

Many entries of a vocabulary were hardly ever seen in training. Their embeddings are nearly equal,
and would look like a direction with a meaning. So only entries that a causal model expects with
some probability in ordinary texts count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from parkade.base.errors import InputError
from parkade.base.progress import Report
from parkade.base.types import Array
from parkade.trained.flows import centred
from parkade.trained.texts import kind_for, texts

if TYPE_CHECKING:
    from parkade.trained.block import Floats
    from parkade.trained.model import Trained

EXPECTED = 1e-5
"""Words with a smaller mean probability in the texts do not count."""

LONGEST = 128
"""Tokens of a text that are read, at most."""


@dataclass(frozen=True, eq=False)
class KnownWords:
    """The words that a model knows, and a direction for each.

    Attributes
    ----------
    ids : (w,) array
        Their numbers in the vocabulary.
    words : list of str
        Their texts.
    writing : (w, d) array
        Unit rows: moving a token along one raises the logit of its word, against the mean of all.
    reading : (w, d) array
        Unit rows: the embeddings, minus their mean.
    decoded : "logits" or "embedding"
        What the writing rows are made of: the map to logits with the gain of the last norm, or the
        embedding, where that map is missing or not linear.

    Examples
    --------
    >>> import parkade as pk
    >>> from parkade.trained.meaning import known_words
    >>> known = known_words(pk.trained.load("ALBERT-rxn", download=True))
    >>> known.words[:3], known.writing.shape == (len(known), 256), known.decoded
    (['c', 'C', '('], True, 'embedding')
    """

    ids: NDArray[np.int64]
    words: list[str]
    writing: Floats
    reading: Floats
    decoded: str

    def __len__(self) -> int:
        """Number of words that the model knows."""
        return len(self.ids)


def known_words(
    model: Trained,
    read: Sequence[str] | None = None,
    report: Report = lambda fraction: None,
) -> KnownWords:
    """The words that a model expects in texts; all of them if it is not causal.

    Parameters
    ----------
    model : Trained
    read : sequence of str, optional
        Texts; by default those that ship with parkade.
    report : function
        Takes the fraction done.
    """
    ends, shape = model.ends, model.shape
    if model.tokenizer is None:
        raise InputError(f"{model.name} has no tokenizer, so its heads have no words")
    ids = np.arange(shape.vocabulary)
    linear = ends.head is not None and ends.head.dense is None and ends.head.norm is None
    if model.causal and ends.head is not None:
        ids = np.flatnonzero(expected(model, _default(model, read), report) >= EXPECTED)
    named = [(int(i), model.tokenizer.word(int(i))) for i in ids]
    chosen = [(i, word) for i, word in named if _readable(word)]
    if len(chosen) < 8:
        raise InputError(f"{model.name} expects only {len(chosen)} words in these texts; add some")
    ids = np.array([i for i, _ in chosen])
    embedded = ends.embedding[ids].astype(np.float64)
    if ends.enlarge is not None:
        embedded = embedded @ ends.enlarge[0].T
    written = embedded
    if linear:
        assert ends.head is not None
        written = ends.head.unembed[ids].astype(np.float64)
        if ends.exit is not None:
            written = written * ends.exit.gain
    words = [word for _, word in chosen]
    decoded = "logits" if linear else "embedding"
    subtract = centred(model)
    return KnownWords(ids, words, _rows(written, subtract), _rows(embedded, subtract), decoded)


def expected(model: Trained, read: Sequence[str], report: Report = lambda fraction: None) -> Array:
    """The mean probability of each entry of the vocabulary over the tokens of texts."""
    total, count = np.zeros(model.shape.vocabulary), 0
    for i, text in enumerate(read):
        ids = model.encode(text)[: min(LONGEST, model.shape.longest)]
        logits = model.read(ids).logits[1:]  # the first token is no ordinary one
        logits = logits - logits.max(axis=1, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(axis=1, keepdims=True)
        total += logits.sum(axis=0, dtype=np.float64)
        count += len(logits)
        report((i + 1) / len(read))
    mean: Array = total / max(count, 1)
    return mean


def _default(model: Trained, read: Sequence[str] | None) -> Sequence[str]:
    if read is not None:
        return read
    kind = kind_for(model.shape.vocabulary)
    return texts(kind) if kind == "reactions" else (*texts(kind), *texts("mixed"))


def _readable(word: str) -> bool:
    """Whether it is text: no part of a character, no mark such as [CLS] or <s>."""
    marks = (("[", "]"), ("<", ">"), ("<|", "|>"))
    mark = any(word.startswith(a) and word.endswith(b) and len(word) > 3 for a, b in marks)
    return bool(word) and "\ufffd" not in word and not mark


def _rows(matrix: Array, centred: bool) -> NDArray[np.float32]:
    """Unit rows of a matrix minus its mean row; without the mean of each, if norms take it out."""
    rows = matrix - matrix.mean(axis=0)
    if centred:
        rows = rows - rows.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: NDArray[np.float32] = (rows / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)
    return unit
