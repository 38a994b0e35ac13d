"""How the attention of each head changes with the length of a text: measured, no theorem.

Causal attention of a token does not depend on later ones, so one reading of a long text has all
lengths: at length n, the tokens n − 15 … n ask, and all earlier ones and themselves are keys.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parkade.base import progress as bars
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.engine.compile.threads import single_threaded_blas
from parkade.trained.texts import texts as shipped

if TYPE_CHECKING:
    import xarray

    from parkade.trained.block import Floats
    from parkade.trained.model import Trained

ASKING = 16
"""Tokens before each length whose attention is averaged."""

LENGTHS = (64, 128, 256, 512, 1024)
"""The default lengths, as far as the model and the texts reach."""

STARTS = 3
"""Default texts: those of parkade, joined, from three places on."""

SHARP, EVEN = 0.2, 0.8
"""Heads whose entropy grows by less per ln n stay sharp; those where it grows by more dilute."""

NAMES = ("entropy", "sink", "older", "criticality")


def context(
    model: Trained,
    texts: Sequence[str | ArrayLike] | None = None,
    lengths: Sequence[int] | None = None,
    *,
    progress: bool = False,
) -> xarray.Dataset:
    """Measure the attention of all heads at several lengths of texts.

    The first token, where most heads send what they do not need, is counted as `sink` and left out
    of the rest, whose weights are scaled to the sum 1.

    Variables
    ---------
    entropy : float, (text, layer, head, length)
        Of the attention, in nats; ln(n − 1) if all keys have the same weight.
    sink : float
        Attention to the first token.
    older : float
        Attention to the older half of the keys; about ½ if all keys have the same weight. Small
        values are locality.
    criticality : float
        Standard deviation of the scores over √(2 ln n): for independent normal scores, attention
        condenses on few keys above 1 and spreads over many below (Derrida, Phys. Rev. B 24, 1981).
    beta : float, (layer, head)
        The effective β of the head, from its weights alone; see `Trained.heads`.
    slope : float, (text, layer, head)
        Growth of the entropy per ln n, by least squares; 1 if all keys have the same weight.
    kind : str, (layer, head)
        By the mean slope: "sharp" (below 0.2), "diluting" (above 0.8) or "between".

    Which heads dilute is measured; no theorem of ours predicts it. If the effective β did, heads
    with a larger one would stay sharper. That scores should grow like ln n is the critical scaling
    of arXiv:2510.05554, where n tokens have one common cosine.
    """
    import xarray

    if not model.causal:
        raise InputError(
            f"{model.name} is an encoder: its tokens see later ones, so a text would have to be "
            "read once for each length; name a causal model"
        )
    read = _ids(model, texts)
    longest = min(map(len, read))
    sizes = _lengths(lengths, longest)
    values = np.empty((len(NAMES), len(read), model.layers, model.head_count, len(sizes)))
    with (
        single_threaded_blas(),
        bars.bar(f"attention of {model.name}", show=progress, remind=True) as report,
    ):
        for i, ids in enumerate(read):
            hidden = model.read(ids[: sizes[-1]]).hidden
            for layer in range(model.layers):
                weights = model.attention_at(layer, hidden[layer])
                for k, n in enumerate(sizes):
                    values[:, i, layer, :, k] = measured(weights[:, n - ASKING : n, :n])
                report((i + (layer + 1) / model.layers) / len(read))
    grid = ("text", "layer", "head", "length")
    slope = slopes(values[0], sizes)
    mean = slope.mean(axis=0)
    kind = np.select([mean < SHARP, mean > EVEN], ["sharp", "diluting"], "between")
    return xarray.Dataset(
        {
            **{name: (grid, values[i]) for i, name in enumerate(NAMES)},
            "slope": (grid[:3], slope),
            "kind": (grid[1:3], kind),
            "beta": (grid[1:3], model.heads(draws=1)["beta"].values),
        },
        {"length": sizes, "layer": range(model.layers), "head": range(model.head_count)},
        {"model": model.name, "texts": len(read), "asking": ASKING},
    )


def measured(weights: Floats) -> Array:
    """`NAMES` of attention (heads, rows, n), whose last row sees all keys: (4, heads)."""
    heads, rows, n = weights.shape
    entropy, sink, older, critical = np.zeros((4, heads))
    for i in range(rows):
        seen = n - rows + i + 1
        p = weights[:, i, :seen].astype(np.float64)
        sink += p[:, 0]
        rest = p[:, 1:]
        rest = rest / np.maximum(rest.sum(axis=1, keepdims=True), 1e-300)
        entropy -= np.sum(
            np.where(rest > 0, rest * np.log(np.where(rest > 0, rest, 1.0)), 0), axis=1
        )
        older += rest[:, : (seen - 1) // 2].sum(axis=1)
        # Weights are exp(score)/Z: their logarithms are the scores, up to a constant. Weights that
        # underflow count as the smallest number.
        scores = np.log(np.maximum(rest, 1e-45))
        critical += scores.std(axis=1) / math.sqrt(2 * math.log(seen - 1))
    mean: Array = np.stack([entropy, sink, older, critical]) / rows
    return mean


def slopes(entropy: Array, lengths: Sequence[int]) -> Array:
    """The growth of the last axis per ln n, by least squares."""
    x = np.log(np.array(lengths) - 1.0)
    x -= x.mean()
    result: Array = entropy @ x / np.sum(x * x)
    return result


def _ids(model: Trained, texts: Sequence[str | ArrayLike] | None) -> list[NDArray[np.int64]]:
    """The ids of the texts; by default those of parkade, joined in several orders."""
    if texts is not None:
        listed = [texts] if isinstance(texts, str) else list(texts)
        if not listed:
            raise InputError("context needs at least one text, got none")
        return [_first(model, text) for text in listed]
    ours = shipped("prose")
    step = len(ours) // STARTS
    joined = ("\n\n".join(ours[i * step :] + ours[: i * step]) for i in range(STARTS))
    return [_first(model, text) for text in joined]


def _first(model: Trained, text: str | ArrayLike) -> NDArray[np.int64]:
    """The ids of a text, as many as the model reads."""
    ids = np.asarray(model.encode(text) if isinstance(text, str) else text)
    return ids[: model.shape.longest]


def _lengths(lengths: Sequence[int] | None, longest: int) -> list[int]:
    least = 2 * ASKING
    sizes = [n for n in LENGTHS if n <= longest] if lengths is None else sorted(set(lengths))
    wrong = [n for n in sizes if not isinstance(n, (int, np.integer)) or not least <= n <= longest]
    if wrong or len(sizes) < 2:
        raise InputError(
            f"lengths must be two or more whole numbers from {least} to {longest}, the tokens of "
            f"the shortest text, got {list(sizes if lengths is None else lengths)}"
        )
    return [int(n) for n in sizes]
