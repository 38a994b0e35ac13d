"""The summary of a finished run, as text or as one JSON object."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

import parkade
from parkade.base.numbers import counted, finite
from parkade.base.tables import Column, text_table
from parkade.base.types import Array
from parkade.runs.trajectory import Trajectory
from parkade.theory.parking import renyi_centers

RADIUS = 1e-3
"""Final tokens closer than this (radians) to an earlier one count as one point."""


def as_text(run: Trajectory, moved: Array, start: str, written: Mapping[str, Path | None]) -> str:
    """The summary as text; with usual values every line fits 80 columns."""
    stats = run.stats
    n, d = run.final.shape
    points = len(renyi_centers(run.final, RADIUS))
    lines = [
        ("model", repr(run.model)),
        ("tokens", f"{n} in d={d}, from {start}{_frozen(run)}"),
        ("times", _times(run)),
        ("method", f"{stats.method}: {stats.reason}"),
        ("sums", f"{stats.engine}: {stats.sums_reason}"),
        (
            "steps",
            f"{stats.steps} (plus {stats.rejected} rejected), {stats.evaluations} velocities, "
            f"{stats.seconds:.3g} s, tol {stats.tol:g}",
        ),
        ("moved", f"{np.mean(moved):.3g} on average, {np.max(moved):.3g} at most (radians)"),
        (
            "ends at",
            f"{counted(points, 'point')} (closer than {RADIUS:g} counts as one)",
        ),
    ]
    if stats.first_rest is not None:
        saved = f"{stats.saved:.0%} of the work saved"
        lines.insert(
            5,
            (
                "resting",
                f"{stats.rested} of {n} at the end, {saved}; from t={stats.first_rest:.3g}",
            ),
        )
    if run.trusted_until < run.times[-1]:
        lines.append(("warning", f"after t={run.trusted_until:.3g} rounding may move the tokens"))
    if run.phase_known_until < run.times[-1]:
        unknown = f"after t={run.phase_known_until:.3g} the phase of the rotation is unknown"
        lines.append(("warning", unknown))
    if stats.stopped:
        lines.append(("stopped", stats.stopped))
    lines += [
        ("wrote", f"{path} ({size(path.stat().st_size)})")
        for path in written.values()
        if path is not None
    ]
    return text_table([Column(), Column()], lines)


def as_json(
    run: Trajectory, moved: Array, seed: int | None, written: Mapping[str, Path | None]
) -> str:
    """The run as one JSON object with exact numbers; the full path is in the output file."""
    n, d = run.final.shape
    return json.dumps(
        {
            "parkade": parkade.__version__,
            "model": {} if run.model is None else run.model.to_dict(),
            "n": n,
            "d": d,
            "seed": seed,
            "frozen": run.frozen.tolist(),
            "frozen_weights": run.frozen_weights.tolist(),
            "times": run.times.tolist(),
            "stats": dataclasses.asdict(run.stats),
            # JSON has no infinity: null means the whole run.
            "trusted_until": finite(run.trusted_until),
            "phase_known_until": finite(run.phase_known_until),
            "moved": {"mean": float(np.mean(moved)), "max": float(np.max(moved))},
            "points": {"count": len(renyi_centers(run.final, RADIUS)), "radius": RADIUS},
            "final": run.final.tolist(),
            **{name: None if path is None else str(path) for name, path in written.items()},
        }
    )


def _times(run: Trajectory) -> str:
    if len(run.times) == 1:
        return f"t={run.times[0]:g} only"
    return f"{len(run.times)} saved, t={run.times[0]:g} to {run.times[-1]:g}"


def _frozen(run: Trajectory) -> str:
    m = len(run.frozen)
    return f"; {m} frozen" if m else ""


def size(size: float) -> str:
    """A number of bytes as text, in a suitable unit."""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"
