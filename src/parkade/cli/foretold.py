"""A forecast beside the merges that were seen, as text or as data."""

from __future__ import annotations

import dataclasses
import json
import math
import textwrap
from typing import Any

from parkade.analysis.agreement import agreement
from parkade.base.numbers import finite
from parkade.base.tables import Column, text_table
from parkade.theory.merge_tree import MergeTree

SINCE = 100.0
"""Earlier merges are not counted: clusters still form."""

_NAMES = ("time", "cluster", "joins", "forecast: time", "joins", "ln ratio")


def as_text(forecast: MergeTree, seen: MergeTree) -> str:
    """The merges after the first plateau, what was forecast of each, and a closing line."""
    first = seen.plateaus[0].start if seen.plateaus else seen.start
    known = {event.absorbed: event for event in forecast.events}
    found = agreement(forecast, seen, first)
    late = [event for event in seen.events if event.time > first]
    rows = []
    for event, right, ratio in zip(late, found.right, found.log_ratio, strict=True):
        foretold = known.get(event.absorbed)
        row = [f"{event.time:.4g}", str(event.absorbed), str(event.into)]
        if foretold is None:
            row += ["never", "", ""]
        else:
            partner = f"{foretold.into}{'' if right else ' (wrong)'}"
            row += [
                f"{foretold.time:.4g}",
                partner,
                f"{ratio:+.3f}" if math.isfinite(ratio) else "",
            ]
        rows.append(row)
    columns = [Column(name, right=i != 4) for i, name in enumerate(_NAMES)]
    table = textwrap.indent(text_table(columns, rows), "  ") if rows else "  none"
    return f"Forecast from the start alone\n{table}\n\n{_closing(forecast, seen)}"


def as_data(forecast: MergeTree, seen: MergeTree) -> dict[str, Any]:
    """The tree and the agreement, ready for JSON; null means infinity, or nothing to compare."""
    found = agreement(forecast, seen, SINCE)
    ratios = [finite(ratio) for ratio in found.log_ratio.tolist()]
    return {
        "tree": json.loads(forecast.to_json()),
        "agreement": {
            "since": SINCE,
            **{name: values.tolist() for name, values in dataclasses.asdict(found).items()},
            "log_ratio": ratios,
            "error": finite(found.error),
        },
    }


def _closing(forecast: MergeTree, seen: MergeTree) -> str:
    """How many partners were right, and how far off their times were."""
    found = agreement(forecast, seen, SINCE)
    count = len(found.right)
    text = f"forecast: no merges after t={SINCE:g} to compare with"
    if count:
        nouns = "partner" if count == 1 else "partners"
        text = f"forecast: {found.right.sum()} of {count} {nouns} right after t={SINCE:g}"
    if not math.isnan(found.error):
        text += f", ln t off by {found.error:.2g} (rms)"
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
