"""The figures of a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from parkade.base.numbers import counted
from parkade.experiments.experiment import Figure
from parkade.experiments.trained.results import StudyResults
from parkade.experiments.trained.tables import WORDS
from parkade.plots import style
from parkade.trained.measures.measured import Measured

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NULLS = {
    "isotropic": (style.GREY, ":"),
    "pooled": (style.GREY, "--"),
    "gaussian": (style.GREEN, "-."),
    "permuted": (style.GREY, "--"),
    "reversed": (style.VERMILLION, "-"),
    "later": (style.VERMILLION, "-"),
    "even": (style.GREY, "--"),
    "trained": (style.BLACK, "-"),
}
"""Colours and dashes of nulls."""

_COLORS = dict(zip(WORDS, (style.BLUE, style.GREEN, style.VERMILLION, style.GREY), strict=True))


def band(ax: Axes, one: Measured, *, color: str = style.BLUE, label: str = "text") -> None:
    """The mean over texts, the band of 80% of them, and the means of the nulls, over layers."""
    layers = np.arange(one.values.shape[1])
    low, high = one.band()
    ax.fill_between(layers, low, high, color=color, alpha=0.25, linewidth=0)
    ax.plot(layers, one.mean, color=color, linewidth=1.2, label=label)
    for name in one.nulls:
        shade, dash = NULLS[name]
        ax.plot(layers, one.null_mean(name), color=shade, linestyle=dash, linewidth=1, label=name)
    ax.set_xlabel("layer")


def heads(results: StudyResults, figure: Figure) -> None:
    """The map of heads, their leading eigenvalues, and their balance beside random ones."""
    from matplotlib.ticker import MaxNLocator

    data = results.heads
    where, spectra, law = figure.subplots(1, 3, width_ratios=(1.1, 1, 1))
    balance = data["balance"].values
    image = where.imshow(balance, cmap="RdBu", vmin=-1, vmax=1, aspect="auto", origin="lower")
    figure.colorbar(image, ax=where, location="top", label="balance Σλ/Σ|λ|", shrink=0.9)
    values = data["spectrum"].values
    negative = np.argwhere(values[..., 0].real < 0)
    if len(negative):
        where.scatter(negative[:, 1], negative[:, 0], s=9, marker="x", color=style.BLACK,
                      linewidths=0.8, label="Re λ < 0")  # fmt: skip
        where.legend(loc="lower left", bbox_to_anchor=(0, -0.32), handletextpad=0.1)
    where.set(xlabel="head", ylabel="layer")
    where.yaxis.set_major_locator(MaxNLocator(integer=True))
    if len(balance) < 10:
        where.set_yticks(range(len(balance)))
    where.xaxis.set_major_locator(MaxNLocator(integer=True))
    lead = values[..., 0] / np.abs(values).max(axis=-1)
    for name, words in WORDS.items():
        chosen = lead[data["kind"].values == name]
        if chosen.size:
            spectra.scatter(chosen.real, chosen.imag, s=7, color=_COLORS[name], alpha=0.7,
                            linewidths=0, label=f"{words} ({chosen.size})")  # fmt: skip
    spectra.axhline(0, color=style.PALE, linewidth=0.6, zorder=0)
    spectra.axvline(0, color=style.PALE, linewidth=0.6, zorder=0)
    spectra.set(xlabel="Re λ₁/max|λ|", ylabel="Im λ₁/max|λ|", ylim=(-0.05, 1.2))
    spectra.legend(loc="upper left", handletextpad=0.1)
    bins = np.linspace(-1, 1, 41)
    law.hist(data["random_balance"].values, bins, density=True, color=style.PALE, label="random")
    law.hist(
        balance.ravel(), bins, density=True, histtype="step", color=style.BLUE, label="trained"
    )
    law.set(xlabel="balance Σλ/Σ|λ|", ylabel="density")
    law.legend(loc="upper left")


def depth(results: StudyResults, figure: Figure) -> None:
    """The measures over depth, with bands over texts and nulls."""
    panels = [
        *results.survey.curves.items(),
        *([("attention to token 1", seen)] if (seen := results.survey.attention) else []),
    ]
    rows = -(-len(panels) // 4)
    axes = figure.subplots(rows, 4, squeeze=False).ravel()
    for ax, (name, one) in zip(axes, panels, strict=False):
        band(ax, one)
        ax.set_title(name)
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
    for ax in (*axes[:2], axes[len(panels) - 1]):  # sinks are in the first only: no Gaussian
        ax.legend(loc="best")


def centers(results: StudyResults, figure: Figure) -> None:
    """Centres against nulls, what predicts where tokens go, and who moves to whom."""
    survey = results.survey
    strong, renyi, rules, pull = figure.subplots(1, 4)
    for ax, kind, title in (
        (strong, "strong", "strong centres"),
        (renyi, "renyi", "Rényi centres"),
    ):
        band(ax, survey.centers[kind], label="forward")
        ax.set(title=title, ylabel="share of tokens")
        ax.legend(loc="best")
    if survey.captured is None:
        rules.set_axis_off()
    else:
        _rules(rules, survey.captured)
    assert survey.pulled is not None  # a report is always centred
    band(pull, survey.pulled, label="to earlier")
    pull.axhline(0, color=style.PALE, linewidth=0.6, zorder=0)
    pull.set(title="who moves to whom", ylabel="mean pull")
    pull.legend(loc="best")


def _rules(rules: Axes, one: Measured) -> None:
    """The error of the nearest centre and of the other rules, with 80% of the texts."""
    names = ["centre", *one.nulls]
    columns = [one.values, *one.nulls.values()]
    means = [float(column.mean()) for column in columns]
    spread = np.array([np.quantile(column, [0.1, 0.9]) for column in columns]).T
    colors = [style.BLUE, *[style.GREY] * len(one.nulls)]
    rules.bar(range(len(names)), means, color=colors, width=0.7)
    rules.vlines(range(len(names)), spread[0], spread[1], color=style.BLACK, linewidth=0.8)
    rules.set_xticks(range(len(names)), names, rotation=45, ha="right")
    rules.set(title="where tokens go", ylabel="error (0.5 is chance)")


def ablations(results: StudyResults, figure: Figure) -> None:
    """The centred cosine over depth in changed models."""
    names = list(results.ablations)
    axes = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    for ax, name in zip(axes, names, strict=True):
        band(ax, results.ablations[name], color=style.VERMILLION, label="changed")
        ax.set_title(name)
    axes[0].set_ylabel("mean cosine, centred")
    axes[0].legend(loc="best")


def iterated(results: StudyResults, figure: Figure) -> None:
    """The number of clusters while a layer is repeated, one line for each text."""
    from matplotlib.ticker import LogLocator

    layers = sorted({one.layer for one in results.iterated})
    axes = figure.subplots(1, len(layers), sharey=True, squeeze=False)[0]
    for ax, layer in zip(axes, layers, strict=True):
        for one in results.iterated:
            if one.layer == layer and one.ending is not None:
                steps = np.arange(len(one.close)) + 1
                ax.plot(steps, one.close, linewidth=1, label=f"text {one.text + 1}")
        ax.set(xscale="log", yscale="log", xlabel="times applied + 1", title=f"layer {layer}")
    axes[0].set_ylabel("clusters (cosine > 0.9)")
    axes[0].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes[0].yaxis.set_major_formatter("{x:g}")
    axes[0].yaxis.set_minor_formatter("")
    if axes[0].lines:
        axes[0].legend(loc="best")


def figures(
    results: StudyResults,
) -> Mapping[str, tuple[Callable[[StudyResults, Figure], None], float, str]]:
    """The figures of these results by name, with a height and a caption."""
    count = results.survey.texts
    few = f"{count} texts: mean, and the band of 80% of them." if count > 1 else "One text."
    shown: dict[str, Any] = {
        "heads": (
            heads,
            2.9,
            "Heads of the model and random heads of the same shape. Crosses: the leading "
            "eigenvalue of V on its range has a negative real part. Middle: leading eigenvalues.",
        ),
        "depth": (
            depth,
            3.9,
            f"Measures over depth. {few} Isotropic: as many random directions. Pooled: as many "
            "tokens of all texts together. Gaussian: as many tokens of equal covariance.",
        ),
        "centers": (
            centers,
            2.5,
            f"Centres by distance, centred, without sinks. {few} The distance is such that half "
            "of the tokens are strong centres in a random order.",
        ),
    }
    if results.ablations:
        read = next(iter(results.ablations.values())).texts
        shown["ablations"] = (
            ablations,
            2.3,
            "The centred mean cosine over depth in changed models (red) and in the trained one "
            f"(black), {counted(read, 'text')}.",
        )
    if results.iterated:
        shown["iterated"] = (
            iterated,
            2.3,
            f"Tokens under one layer, applied {results.times} times: the number of clusters, if "
            "tokens with a cosine above 0.9 are linked.",
        )
    return shown
