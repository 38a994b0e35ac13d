"""The tables of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from parkade.trained.measures.capture import CAPTURE_RULES
from parkade.trained.measures.measured import Measured, least_p
from parkade.trained.study import Iterated, Survey

if TYPE_CHECKING:
    import xarray

WORDS = {
    "two points": "real, > 0",
    "rotation": "complex",
    "two clouds": "real, < 0",
    "outside": "Re ≤ 0, complex",
}
"""Rows of Table 1, and what the leading eigenvalue is in each."""


def kinds(heads: xarray.Dataset) -> dict[str, tuple[float, float]]:
    """The share of heads in each row of Table 1, and of random heads of the same shape."""
    trained, drawn = heads["kind"].values, heads["random_kind"].values
    return {
        name: (float(np.mean(trained == name)), float(np.mean(drawn == name))) for name in WORDS
    }


def quantiles(values: NDArray[Any]) -> str:
    """The quantiles 10, 50 and 90%."""
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
    return f"{low:.3g}, {middle:.3g}, {high:.3g}"


def heads_dict(heads: xarray.Dataset) -> dict[str, Any]:
    """The heads, for JSON."""
    return {
        "count": int(heads["kind"].size),
        "random": int(heads["random_kind"].size),
        "kinds": {n: {"trained": a, "random": b} for n, (a, b) in kinds(heads).items()},
        **{
            name: heads[name].values.tolist()
            for name in ("kind", "balance", "balance_holm", "beta", "symmetric", "rank", "size")
        },
        "random_balance_sd": float(heads["random_balance"].std()),
    }


def heads_rows(heads: xarray.Dataset) -> list[list[str]]:
    """A table of the heads beside random ones."""
    count, drawn = heads["kind"].size, heads["random_kind"].size
    spread = float(heads["random_balance"].std())
    rows = [["heads", f"trained ({count})", f"random ({drawn})"]]
    for name, (share, null) in kinds(heads).items():
        rows.append([f"{name} (λ {WORDS[name]})", f"{share:.2f}", f"{null:.2f}"])
    balance = heads["balance"].values
    far = float(np.mean(heads["balance_holm"].values < 0.05))
    return [
        *rows,
        ["balance Σλ/Σ|λ|, least … most", f"{balance.min():.2f} … {balance.max():.2f}",
         f"0 ± {spread:.2f}"],
        ["balance beyond chance (Holm, 5%)", f"{far:.2f}", "≤ 0.05 of such tables"],
        ["effective β, 10, 50, 90%", quantiles(heads["beta"].values), "–"],
        ["symmetric share of QᵀK, 10, 50, 90%", quantiles(heads["symmetric"].values),
         f"0.5 ± {float(heads['random_symmetric'].std()):.3f}"],
    ]  # fmt: skip


def depth_rows(survey: Survey) -> list[list[str]]:
    """A table of the measures over depth: at the start, in the middle, and at the end."""
    rows = [["over depth", "first", "middle", "last", "null, last layer", "p"]]
    for name, one in survey.measures.items():
        mean = one.mean
        for i, null in enumerate(one.nulls):
            cells = [f"{mean[j]:.3g}" for j in (0, len(mean) // 2, -1)]
            rows.append(
                [*([name, *cells] if i == 0 else ["", "", "", ""]),
                 f"{null} {one.null_mean(null)[-1]:.3g}", probability(one.p(null)[-1], one.texts)]
            )  # fmt: skip
    return rows


def capture_rows(survey: Survey) -> list[list[str]]:
    """A table of what predicts the company of a token at the end."""
    one = survey.captured
    head = ["where tokens go: named by the first layer", "error", "p against the centre"]
    if one is None:
        return [head, ["texts are too short for it", "–", "–"]]
    return [
        head,
        [CAPTURE_RULES["centre"], f"{float(one.mean):.3f}", ""],
        *([CAPTURE_RULES[name], f"{float(one.null_mean(name)):.3f}",
           probability(float(one.p(name)), one.texts)]
          for name in one.nulls),
    ]  # fmt: skip


def ablation_rows(ablations: Mapping[str, Measured]) -> list[list[str]]:
    """A table of changed models."""
    return [
        ["mean cosine, centred, last layer", "changed", "trained", "texts", "p"],
        *([name, f"{one.mean[-1]:.2f}", f"{one.null_mean('trained')[-1]:.2f}", str(one.texts),
           probability(one.p("trained")[-1], one.texts)]
          for name, one in ablations.items()),
    ]  # fmt: skip


def iteration_rows(iterated: Sequence[Iterated], times: int) -> list[list[str]]:
    """A table of iterated layers: clusters by a cosine of 0.9, and the end to rounding."""
    return [
        ["layer", "text", "tokens", "cosine > 0.9", f"to rounding, after {times} times"],
        *([str(one.layer), str(one.text + 1), str(one.tokens),
           "–" if one.ending is None else f"{one.close[0]} → {one.close[-1]}", one.sentence]
          for one in iterated),
    ]  # fmt: skip


def probability(p: float, texts: int) -> str:
    """A probability of `Measured.p` for a table; one text has none."""
    least, name = least_p(texts)
    if texts < 2:
        return "–"
    return f"≤ {name.split(',')[0]}" if p < 1.001 * least else f"{p:.2g}"
