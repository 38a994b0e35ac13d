"""`Reading`: a text as a trained transformer reads it, layer by layer."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.progress import Report
from parkade.base.types import Array
from parkade.runs.path import Path
from parkade.trained import forward
from parkade.trained.block import Floats

if TYPE_CHECKING:
    from parkade.trained.model import Trained


@dataclass(frozen=True, eq=False, repr=False)
class Reading:
    """A text as a trained transformer reads it.

    Attributes
    ----------
    model : Trained
    ids : (n,) array
        The tokens' ids.
    hidden : (layers + 1, n, d) array
        The tokens before the first layer and after each.
    middle : (layers, n, d) array
        The tokens after the attention of each layer, before its MLP.
    attention : (layers, heads, n, n) array or None
        The weights of all heads, if they were asked for.

    Examples
    --------
    >>> import parkade as pk
    >>> model = pk.trained.load("ALBERT-rxn", download=True)
    >>> reading = model.read("CCO.CC(=O)O>>CC(=O)OCC")
    >>> reading.words[:4], reading.hidden.shape, reading.attention_of(0).shape
    (['[CLS]', 'C', 'C', 'O'], (13, 23, 256), (8, 23, 23))
    >>> reading.path()
    Path(23 tokens in d=256, t=0…12, 13 times)
    """

    model: Trained
    ids: NDArray[np.int64]
    hidden: Floats
    middle: Floats
    attention: Floats | None = field(default=None)

    def __repr__(self) -> str:
        return f"Reading({len(self.ids)} tokens by {self.model.name}, {len(self.middle)} layers)"

    @cached_property
    def words(self) -> list[str]:
        """The text of each token, or its id if there is no tokenizer."""
        tokenizer = self.model.tokenizer
        return [str(i) if tokenizer is None else tokenizer.word(int(i)) for i in self.ids]

    @cached_property
    def radii(self) -> Array:
        """The length of each token before the first layer and after each, (layers + 1, n)."""
        lengths: Array = np.linalg.norm(self.hidden, axis=-1).astype(np.float64)
        return lengths

    def attention_of(self, layer: int) -> Floats:
        """The weights of all heads of a layer, (heads, n, n)."""
        layer = self.model.number(layer)
        if self.attention is not None:
            weights: Floats = self.attention[layer]
            return weights
        return self.model.attention_at(layer, self.hidden[layer])

    @cached_property
    def logits(self) -> Floats:
        """The logits of the next token, or of a masked one, (n, vocabulary)."""
        ends, n = self.model.ends_with_head(), len(self.ids)
        size = float(self.hidden.itemsize) * n * self.model.shape.vocabulary
        check.fits_in_memory(size, f"the logits of {n} tokens", "use losses, or a shorter text")
        return forward.logits(ends, self.hidden[-1])

    @cached_property
    def losses(self) -> Array | None:
        """The surprise of each token after the first, in nats, (n − 1,); None for encoders."""
        if not self.model.causal:
            return None
        surprise = np.empty(len(self.ids) - 1)
        rows = max(1, 2**25 // self.model.shape.vocabulary)
        ends = self.model.ends_with_head()
        for start in range(0, len(surprise), rows):  # without all logits at once
            part = slice(start, min(start + rows, len(surprise)))
            scores = forward.logits(ends, self.hidden[-1, part]).astype(np.float64)
            top = scores.max(axis=-1)
            total = top + np.log(np.exp(scores - top[:, None]).sum(axis=-1))
            surprise[part] = total - scores[np.arange(len(scores)), self.ids[1:][part]]
        return surprise

    @property
    def loss(self) -> float | None:
        """The mean of `losses`; None for encoders and for a single token."""
        losses = self.losses
        return None if losses is None or not len(losses) else float(losses.mean())

    def path(self, clock: str = "layer", centre: ArrayLike | None = None) -> Path:
        """The directions of the tokens with their words, layer by layer: `show` it.

        Parameters
        ----------
        clock : "layer" or "tau"
            The times: numbers of layers, or sums of τ_l = √d·Re λ_max(Σ_h V_h)/|x_l|, with the
            median length of the tokens.
        centre : (d,) or (layers + 1, d) array, optional
            Subtracted first, for example the mean over other texts.
        """
        kind = check.choice("clock", clock, ("layer", "tau"))
        states: Any = self.hidden.astype(np.float64)
        if centre is not None:
            middle = check.array("centre", centre)
            layers, _, d = states.shape
            if middle.shape not in ((d,), (layers, d)):
                raise InputError(
                    f"centre must have the shape ({d},) or ({layers}, {d}), got {middle.shape}"
                )
            states = states - (middle if middle.ndim == 1 else middle[:, None])
        lengths = np.linalg.norm(states, axis=-1)
        if not (lengths > 0).all():
            raise InputError("a token equals the centre, so it has no direction; use another one")
        times = np.arange(len(states), dtype=np.float64) if kind == "layer" else self.clock
        return Path(times, states / lengths[..., None], radii=lengths, words=self.words)

    @cached_property
    def clock(self) -> Array:
        """The sums of τ_l = √d·Re λ_max(Σ_h V_h)/|x_l| before each layer, (layers + 1,)."""
        rates = np.array([self.model.rate(layer) for layer in range(self.model.layers)])
        if not (rates > 0).all():
            layer = int(np.flatnonzero(rates <= 0)[0])
            raise InputError(
                f"layer {layer} has Re λ_max ≤ 0, so it has no clock τ; use clock='layer'"
            )
        ticks = rates / np.median(self.radii[:-1], axis=1)
        return np.concatenate([[0.0], np.cumsum(ticks)])


def checked_ids(model: Trained, ids: ArrayLike) -> NDArray[np.int64]:
    """The ids of tokens, which must be in the vocabulary of the model."""
    numbers = np.asarray(ids)
    top = model.shape.vocabulary - 1
    if numbers.ndim != 1 or not numbers.size or numbers.dtype.kind not in "iu":
        raise InputError(f"ids must be a list of whole numbers, got {check.brief(ids)}")
    if numbers.min() < 0 or numbers.max() > top:
        wrong = numbers[(numbers < 0) | (numbers > top)][0]
        raise InputError(f"ids must lie in 0 … {top}, got {wrong}")
    return numbers.astype(np.int64)


def read(model: Trained, ids: NDArray[np.int64], attention: bool, report: Report) -> Reading:
    """Pass tokens through a model and store them after every layer; see `Trained.read`."""
    n, shape = len(ids), model.shape
    if n > shape.longest:
        raise InputError(
            f"{model.name} reads at most {shape.longest} tokens, got {n}; shorten the text"
        )
    size = model.dtype.itemsize
    states = (2.0 * shape.layers + 1) * n * shape.d
    weights = float(shape.layers * shape.heads) * n * n if attention else 0.0
    remedy = "use attention=False, or a shorter text" if attention else "use a shorter text"
    check.fits_in_memory(size * (states + weights), f"{n} tokens in all layers", remedy)
    hidden = np.empty((shape.layers + 1, n, shape.d), model.dtype)
    middle = np.empty((shape.layers, n, shape.d), model.dtype)
    hidden[0] = forward.embed(model.ends, ids)
    maps = np.empty((shape.layers, shape.heads, n, n), model.dtype) if attention else None
    with forward.cores(shape, n):
        for i in range(shape.layers):
            middle[i], hidden[i + 1] = forward.layer(model.block(i), shape, hidden[i])
            if maps is not None:
                maps[i] = attention_at(model, i, hidden[i])
            report((i + 1) / shape.layers)
    if not np.isfinite(hidden[-1]).all():
        raise InputError(f"numbers overflow in {model.name}; load it with dtype='float64'")
    return Reading(model, ids, hidden, middle, maps)


def attention_at(model: Trained, layer: int, states: Floats) -> Floats:
    """The weights of all heads of a layer at the tokens before it; see `Trained.attention_at`."""
    block = model.block(layer)
    if block.attention is None:
        raise InputError(f"{model.name} has no attention")
    n = len(states)
    size = float(model.dtype.itemsize) * model.head_count * n * n
    check.fits_in_memory(size, f"the weights of {n} tokens", "use a shorter text")
    x = forward.entering(block, states)
    if block.norms is not None and model.shape.order != "post":
        x = block.norms[0](x)
    return forward.attention_matrix(block.attention, model.shape, x)
