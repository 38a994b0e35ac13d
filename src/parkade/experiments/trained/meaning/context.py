"""The dataset of `Trained.context` as tables and sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parkade.trained.context import EVEN, NAMES, SHARP

if TYPE_CHECKING:
    import xarray

EACH = 5
"""Heads at either end of the table."""


def lengths_table(data: xarray.Dataset) -> list[list[str]]:
    """Means over heads and texts, a column for each length; the first row is the heading."""
    mean = data[list(NAMES)].mean(("text", "layer", "head"))
    lengths = data["length"].values
    even = np.log(lengths - 1)
    words = {
        "entropy": "entropy without sink, nats",
        "sink": "attention to the first token",
        "older": "to the older half of the keys",
        "criticality": "spread of scores/√(2 ln n)",
    }
    return [
        ["mean over heads", *(f"n = {n}" for n in lengths)],
        *([words[name], *(f"{x:.2f}" for x in mean[name].values)] for name in NAMES),
        ["entropy of equal weights", *(f"{x:.2f}" for x in even)],
    ]


def heads_table(data: xarray.Dataset) -> list[list[str]]:
    """The sharpest heads and those that dilute most, at the largest length."""
    slope = data["slope"].mean("text").values
    last = data.isel(length=-1).mean("text")
    order = np.argsort(slope, axis=None)
    shown = [*order[:EACH], *order[max(EACH, len(order) - EACH) :]]
    table = [["head", "slope", "kind", *NAMES]]
    for i in shown:
        layer, head = np.unravel_index(i, slope.shape)
        cells = [f"{float(last[name].values[layer, head]):.2f}" for name in NAMES]
        kind = str(data["kind"].values[layer, head])
        table.append([f"L{layer}H{head}", f"{slope[layer, head]:+.2f}", kind, *cells])
    return table


def correlations(data: xarray.Dataset) -> dict[str, float]:
    """Rank correlations of the slopes of heads with β and what is seen at the second length."""
    from scipy.stats import spearmanr

    slope = data["slope"].mean("text").values.ravel()
    early = data.isel(length=min(1, data.sizes["length"] - 1)).mean("text")
    seen = {**{name: early[name].values for name in NAMES}, "effective β": data["beta"].values}
    return {
        name: float(spearmanr(values.ravel(), slope).statistic)
        for name, values in seen.items()
        if np.ptp(values) > 0
    }


def summary(data: xarray.Dataset) -> list[str]:
    """What the tables show, in sentences."""
    slope, kind = data["slope"].mean("text").values, data["kind"].values
    low, middle, high = np.quantile(slope, [0.1, 0.5, 0.9])
    counts = {name: int((kind == name).sum()) for name in ("sharp", "between", "diluting")}
    known = correlations(data)
    n = int(data["length"].values[min(1, data.sizes["length"] - 1)])
    return [
        f"The entropy grows by {middle:.2f} per ln n (median of {slope.size} heads, "
        f"{data.attrs['texts']} texts; 10%: {low:.2f}, 90%: {high:.2f}; equal weights: 1). "
        f"{counts['sharp']} heads stay sharp (below {SHARP:g}), {counts['diluting']} dilute (above "
        f"{EVEN:g}).",
        f"Rank correlation of this slope with β, and with what is seen at n = {n}: "
        + ", ".join(f"{name} {value:+.2f}" for name, value in known.items())
        + ".",
        "Measured, not proved: no theorem of ours says which heads dilute. If their effective β "
        "did, its correlation would be negative: a larger β makes attention sharper.",
    ]
