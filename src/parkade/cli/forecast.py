"""A forecast compared with the merges of the run, as text or as data."""

from __future__ import annotations

import dataclasses
import json
import math
import textwrap
from pathlib import Path
from typing import Any

from parkade.analysis.agreement import agreement
from parkade.base.errors import InputError
from parkade.base.numbers import counted, finite
from parkade.base.tables import Column, text_table
from parkade.theory.merge_tree import MergeTree

SINCE = 100.0
"""Merges before this time are not counted, because clusters are still forming."""

_NAMES = ("time", "cluster", "joins", "forecast: time", "joins", "ln ratio")


def check_forecast(plot: Path | None, changing: bool, times: Any) -> None:
    """Raise an error if `simulate` could not draw a forecast of a run with these options."""
    if plot is None:
        raise InputError("--forecast draws into the figure of the run, got no figure; add --plot")
    if changing:
        raise InputError(
            "--forecast is for one β and free tokens; leave out --schedule and --frozen"
        )
    if (times == "final") if isinstance(times, str) else (len(times) < 2):
        raise InputError("--forecast needs a run with several times; leave out --times")


def as_text(forecast: MergeTree, seen: MergeTree) -> str:
    """A table of the merges after the first plateau with their forecasts, and a summary."""
    first = seen.plateaus[0].start if seen.plateaus else seen.start
    by_cluster = {event.absorbed: event for event in forecast.events}
    match = agreement(forecast, seen, first)
    late = [event for event in seen.events if event.time > first]
    rows = []
    for event, right, ratio in zip(late, match.right, match.log_ratio, strict=True):
        row = [f"{event.time:.4g}", str(event.absorbed), str(event.into), "never", "", ""]
        if predicted := by_cluster.get(event.absorbed):
            partner = f"{predicted.into}{'' if right else ' (wrong)'}"
            shown = f"{ratio:+.3f}" if math.isfinite(ratio) else ""
            row[3:] = [f"{predicted.time:.4g}", partner, shown]
        rows.append(row)
    columns = [Column(name, right=i != 4) for i, name in enumerate(_NAMES)]
    table = textwrap.indent(text_table(columns, rows), "  ") if rows else "  none"
    return f"Forecast from the start alone\n{table}\n\n{_summary(forecast, seen)}"


def as_data(forecast: MergeTree, seen: MergeTree) -> dict[str, Any]:
    """The tree and the agreement, ready for JSON; null means infinity, or nothing to compare."""
    match = agreement(forecast, seen, SINCE)
    ratios = [finite(ratio) for ratio in match.log_ratio.tolist()]
    return {
        "tree": json.loads(forecast.to_json()),
        "agreement": {
            "since": SINCE,
            **{name: values.tolist() for name, values in dataclasses.asdict(match).items()},
            "log_ratio": ratios,
            "error": finite(match.error),
        },
    }


def _summary(forecast: MergeTree, seen: MergeTree) -> str:
    """How many partners were forecast correctly, and the error of the forecast times."""
    match = agreement(forecast, seen, SINCE)
    count = len(match.right)
    text = f"forecast: no merges after t={SINCE:g} to compare with"
    if count:
        partners = counted(count, "partner")
        text = f"forecast: {match.right.sum()} of {partners} right after t={SINCE:g}"
    if not math.isnan(match.error):
        text += f", ln t off by {match.error:.2g} (rms)"
    unseen = [
        event
        for event in forecast.events
        if SINCE < event.time <= seen.end and math.isinf(seen.arrivals[event.absorbed])
    ]
    if unseen:
        text += f"\nforecast before t={seen.end:.3g} but not seen: {len(unseen)}"
    return "\n".join(
        [text, *(textwrap.fill(f"doubtful: {doubt}", 80) for doubt in forecast.doubts)]
    )
