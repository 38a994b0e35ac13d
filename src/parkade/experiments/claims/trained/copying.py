"""Whether heads with a large copying score raise the logits of the tokens that they attend to.

The balance Σλ/Σ|λ| of V is the copying score of Elhage et al. 2021, A Mathematical Framework for
Transformer Circuits, up to a change of basis: there it is taken of W_E, V and W_U together. Here it
is compared with what heads do: how far the output of a head for a token x raises the logit of the
word of x, in standard deviations over all words; for bare embeddings, and in texts, where tokens
count as much as later ones attend to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from parkade.base.types import Array
from parkade.experiments.claim import Claim, Evidence, Judgement
from parkade.experiments.claims.trained.models import ALARM, on_models, unless_missing
from parkade.experiments.experiment import TRAINED, Figure, Setup
from parkade.experiments.statistics import worst
from parkade.trained.flows import directions, head_matrices
from parkade.trained.heads import balance, spectrum

if TYPE_CHECKING:
    from parkade.trained.meaning.vocabulary import KnownWords
    from parkade.trained.model import Trained

CAUSAL = ("stories15M", "SmolLM2-135M")
"""Models with a linear map to logits."""

LEAST = 0.5
"""The rank correlation that the claim needs."""

TOKENS = 128
"""Of a text, at most."""

BARE = 400
"""Words whose embeddings are passed through heads."""


def judge(correlation: float, heads: int, models: int) -> Judgement:
    """The verdict from a rank correlation over heads, by Fisher's interval."""
    from scipy.special import ndtri

    reach = -float(ndtri(ALARM / (2 * models))) * 1.03 / max(heads - 3, 1) ** 0.5
    low, high = np.tanh(np.arctanh(np.clip(correlation, -0.999, 0.999)) + np.array([-reach, reach]))
    return "agrees" if low > LEAST else "contradicts" if high < LEAST else "undecided"


def rises(values: Array, images: Array, own: NDArray[np.int64]) -> Array:
    """How far a head raises the logit of one word for each token, in standard deviations.

    The logits are values · imagesᵀ, for the values V x of the tokens, (n, m), and the images Oᵀw of
    all words, (w, m). `own` is the row of that word for each token.
    """
    free = images - images.mean(axis=0)  # minus the mean logit of all words
    spread = np.einsum("ni,ij,nj->n", values, free.T @ free / len(free), values)
    raised: Array = np.einsum("ni,ni->n", values, free[own]) / np.sqrt(spread)
    return raised


def measure(models: list[Trained], setup: Setup) -> Evidence:
    """Correlate the copying score with what heads do to words, over heads."""
    from scipy.stats import spearmanr

    from parkade.trained.meaning import known_words
    from parkade.trained.texts import texts

    read = (*texts("mixed"), *texts("prose"))[: setup.choose(3, 12)]
    rows: dict[str, Any] = {}
    verdicts: list[Judgement] = []
    for i, model in enumerate(models):
        known = known_words(model, read)
        part = setup.part(i, len(models))
        scores, bare, seen, following = table(model, known, read, part)
        rank = {
            name: float(spearmanr(scores.ravel(), values.ravel()).statistic)
            for name, values in (("bare", bare), ("in texts", seen), ("next word", following))
        }
        late = slice(2 * model.layers // 3, None)
        rank["next word, last third"] = float(
            spearmanr(scores[late].ravel(), following[late].ravel()).statistic
        )
        verdicts.append(judge(rank["in texts"], scores.size, len(models)))
        rows[model.name] = {
            "heads": int(scores.size), "correlation": rank, "score": scores.tolist(),
            "bare": bare.tolist(), "seen": seen.tolist(),
        }  # fmt: skip
    return Evidence(
        verdict=worst(verdicts),
        measured="in texts "
        + ", ".join(f"{row['correlation']['in texts']:+.2f}" for row in rows.values())
        + "; bare " + ", ".join(f"{row['correlation']['bare']:+.2f}" for row in rows.values()),
        false_alarm=ALARM,
        numbers={"models": rows, "texts": len(read)},
    )  # fmt: skip


def table(
    model: Trained, known: KnownWords, read: tuple[str, ...], setup: Setup
) -> tuple[Array, Array, Array, Array]:
    """For each layer and head: score, and rises of bare, attended and next words."""
    place = {int(i): row for row, i in enumerate(known.ids)}
    words = known.writing.astype(np.float64)
    chosen = setup.generator(3).choice(len(known), min(BARE, len(known)), replace=False)
    root = np.sqrt(model.d)
    bare_x = root * directions(model, model.ends.embedding[known.ids[chosen]])
    readings = [model.read(model.encode(text)[:TOKENS]) for text in read]
    result = np.zeros((4, model.layers, model.head_count))
    for layer in range(model.layers):
        _, _, V, out = head_matrices(model, layer)
        attended = []
        for reading in readings:
            ids = reading.ids.tolist()
            inside = [j for j in range(1, len(ids) - 1) if ids[j] in place and ids[j + 1] in place]
            weights = np.tril(reading.attention_of(layer), -1).sum(axis=1)[:, inside]
            x = root * directions(model, reading.hidden[layer][inside])
            own, after = (np.array([place[ids[j + k]] for j in inside]) for k in (0, 1))
            attended.append((x, own, after, weights))
        for h in range(model.head_count):
            images = words @ out[h]
            z = [rises(x @ V[h].T, images, own) for x, own, _, _ in attended]
            following = [rises(x @ V[h].T, images, after) for x, _, after, _ in attended]
            weight = np.concatenate([w[h] for *_, w in attended])
            result[:, layer, h] = (
                float(balance(spectrum(V[h] @ out[h]))),
                np.median(rises(bare_x @ V[h].T, images, chosen)),
                np.average(np.concatenate(z), weights=weight),
                np.average(np.concatenate(following), weights=weight),
            )
        setup.report((layer + 1) / model.layers)
    return result[0], result[1], result[2], result[3]


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw what heads do to the words of tokens against their copying score."""
    from parkade.plots import style

    rows = evidence.numbers["models"]
    axes = figure.subplots(1, 2 * len(rows), squeeze=False)[0]
    cases = [(name, what) for name in rows for what in ("bare", "seen")]
    for ax, (name, what) in zip(axes, cases, strict=True):
        row = rows[name]
        ax.scatter(row["score"], row[what], s=6, color=style.BLUE, linewidths=0)
        ax.axhline(0, color=style.PALE, linewidth=0.6, zorder=0)
        kind = "bare" if what == "bare" else "in texts"
        ax.set(xlabel="copying score", title=f"{name}\n{kind}: {row['correlation'][kind]:+.2f}")
    axes[0].set_ylabel("rise of a token's own logit, sd")


CLAIM = Claim(
    name="copying",
    title="Heads with a large copying score raise the logits of the tokens they attend to",
    paper=TRAINED,
    status="observed",
    prediction="rank correlation over heads, in texts, > 0.5",
    measure=on_models(measure, small=("stories15M",), all_=CAUSAL),
    draw=unless_missing(draw),
)
