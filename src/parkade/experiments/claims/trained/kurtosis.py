"""Whether heads write along axes where few words stand out, and where such heads are.

The words are those that a model expects in texts of many kinds, which were written for this test.
Encoders, which have no linear map to logits, are measured by their embeddings, and do not count.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parkade.experiments.claim import Claim, Evidence, Judgement
from parkade.experiments.claims.trained.models import ALL, on_models, unless_missing
from parkade.experiments.experiment import TRAINED, Figure, Setup
from parkade.experiments.statistics import worst
from parkade.trained.meaning.axes import ALL as SUM
from parkade.trained.meaning.axes import axes_of, matrices
from parkade.trained.meaning.table import LEVEL
from parkade.trained.meaning.words import ends

if TYPE_CHECKING:
    import xarray

    from parkade.base.types import Array
    from parkade.trained.meaning.vocabulary import KnownWords
    from parkade.trained.model import Trained

SHARE = 0.1
"""The smallest share of heads with a real leading eigenvalue that the claim needs."""

STRONG = 4.0
"""Heads above this kurtosis must be late."""

TICKS = (2, 3, 5, 10, 20, 50, 100)
"""Of the kurtosis, in the figure."""

BLOCK, STEPS = 32, 15
"""Weights are moved as by rounding to 16 levels in blocks of 32."""


def judge(beyond: int, lines: int, strong: list[float]) -> Judgement:
    """The verdict from counts of heads, and the depths (0 to 1) of those with large kurtosis."""
    if beyond < SHARE * lines or not strong:
        return "contradicts"
    late = sum(depth >= 2 / 3 for depth in strong)
    return "agrees" if 2 * late > len(strong) else "contradicts"


def noisy(model: Trained, rng: np.random.Generator) -> Trained:
    """The model with the errors of four bits in the matrices V and O."""
    from parkade.trained.changes import changed

    def moved(matrix: Any) -> Any:
        blocks = matrix.reshape(-1, BLOCK)
        step = (blocks.max(axis=1) - blocks.min(axis=1)) / STEPS
        error = step[:, None] * (rng.random(blocks.shape) - 0.5)
        return (blocks + error).reshape(matrix.shape).astype(matrix.dtype)

    blocks: dict[int, Any] = {}

    def block(i: int) -> Any:
        if i not in blocks:
            old = model.block_of(i)
            part = old.attention
            assert part is not None
            blocks[i] = replace(old, attention=replace(part, v=moved(part.v), o=moved(part.o)))
        return blocks[i]

    return changed(model, "four bits", block)


def stability(model: Trained, data: xarray.Dataset, known: KnownWords, seed: int) -> list[Any]:
    """For each head with a line: kurtosis, and the share of its words that survive the noise."""
    other = noisy(model, np.random.default_rng(seed))
    rows = []
    for layer in data["layer"].values:
        for head in range(model.head_count):
            before, after = (
                axes_of(*matrices(one, int(layer), head)).writes for one in (model, other)
            )
            if len(before) + len(after) > 2:
                continue
            after = after * np.sign(np.sum(before * after))
            words: list[set[str]] = []
            for axis in (before, after):
                plus, minus = ends(known.writing, known.words, axis)
                words.append({f"+{w}" for w in plus} | {f"-{w}" for w in minus})
            value = float(data["kurtosis"].sel(layer=layer, head=head, axis="writes"))
            cosine = float(np.sum(before * after))
            rows.append([value, cosine, len(words[0] & words[1]) / len(words[0])])
    return rows


def measure(models: list[Trained], setup: Setup) -> Evidence:
    """Count heads beyond random directions, and see how deep they are."""
    from parkade.trained.meaning import known_words
    from parkade.trained.texts import kind_for, texts

    rows: dict[str, Any] = {}
    verdicts: list[Judgement] = []
    for model in setup.each(models):
        kind = kind_for(model.shape.vocabulary)
        read = texts("mixed" if kind == "prose" else kind)
        data = model.meaning(texts=read, seed=setup.seed)
        heads = data.sel(axis="writes", head=data["head"] != SUM)
        lines = (np.abs(heads["eigenvalue"].values.imag) < 1e-9).ravel()
        value: Array = heads["kurtosis"].values.ravel()
        beyond = (heads["holm"].values < LEVEL).ravel()
        depth = np.repeat(heads["layer"].values / model.layers, model.head_count)
        strong = depth[beyond & (value > STRONG)].tolist()
        counts = int(np.sum(beyond & lines)), int(lines.sum())
        by_logits = data.attrs["decoded"] == "logits"
        if by_logits:
            verdicts.append(judge(*counts, strong))
        stable = stability(model, data, known_words(model, read), setup.seed) if by_logits else []
        rows[model.name] = {
            "decoded": data.attrs["decoded"], "words": data.attrs["words"],
            "lines_beyond": counts[0], "lines": counts[1],
            "planes_beyond": int(np.sum(beyond & ~lines)), "planes": int((~lines).sum()),
            "strong": len(strong), "late": sum(x >= 2 / 3 for x in strong),
            "kurtosis": value.tolist(), "depth": depth.tolist(), "beyond": beyond.tolist(),
            "random": float(data["random"].max()), "stability": stable,
        }  # fmt: skip
    seen = "; ".join(f"{r['lines_beyond']}/{r['lines']}, {r['late']}/{r['strong']} late"
                     for r in rows.values() if r["decoded"] == "logits")  # fmt: skip
    return Evidence(
        verdict=worst(verdicts) if verdicts else "undecided",
        measured=seen or "no model with a linear map to logits",
        false_alarm=0.0,  # it is a statement on these weights; nulls are random, and sharp
        numbers={"models": rows},
    )


def draw(evidence: Evidence, figure: Figure) -> None:
    """Draw the kurtosis of all heads over depth."""
    from parkade.plots import style

    rows = evidence.numbers["models"]
    axes = figure.subplots(1, len(rows), sharey=True, squeeze=False)[0]
    for ax, (name, row) in zip(axes, rows.items(), strict=True):
        beyond = np.array(row["beyond"])
        for chosen, color, label in (
            (~beyond, style.GREY, "like random directions"), (beyond, style.BLUE, "beyond them"),
        ):  # fmt: skip
            ax.scatter(np.array(row["depth"])[chosen], np.array(row["kurtosis"])[chosen], s=8,
                       color=color, label=label, linewidths=0)  # fmt: skip
        ax.axhline(row["random"], color=style.VERMILLION, linewidth=0.8, linestyle=":")
        ax.set(
            yscale="log", xlabel="depth", xlim=(-0.05, 1.05), title=f"{name}\nby {row['decoded']}"
        )
        ax.set_yticks(TICKS, map(str, TICKS))
        ax.minorticks_off()
    axes[0].set_ylabel("kurtosis of the words")
    axes[0].legend(loc="upper left", handletextpad=0.1)


CLAIM = Claim(
    name="meaning-kurtosis",
    title="Late heads write along axes where few words stand out, beyond random directions",
    paper=TRAINED,
    status="observed",
    prediction="10% of heads with real λ or more; those above 4 late",
    measure=on_models(measure, all_=ALL),
    draw=unless_missing(draw),
)
