"""What was run, in one line."""

from __future__ import annotations

import numpy as np

from parkade.base.types import Array
from parkade.plots import style
from parkade.runs.trajectory import Trajectory


def caption(run: Trajectory) -> str:
    """What was run, in one line: β, n, matrices other than I, mask, end, and any doubt."""
    model = run.model
    parts = [f"β = {style.number(model.beta)}", f"n = {run.tokens.shape[1]}"]
    parts += [] if model.d <= 3 else [f"d = {model.d}"]
    for name in "QKV":
        m: Array = getattr(model, name)
        if not np.array_equal(m, np.eye(model.d)):
            parts.append(f"{name} = {matrix(m)}")
    if len(run.frozen):
        parts.append(f"{len(run.frozen)} frozen")
    parts += [f"{model.mask} mask", f"t = {style.number(float(run.times[-1]))}"]
    if run.trusted_until < run.times[-1]:
        parts.append(f"trusted to t = {style.number(run.trusted_until)}")
    if run.phase_known_until < run.times[-1]:
        parts.append(f"phase known to t = {style.number(run.phase_known_until)}")
    return ", ".join(parts)


def matrix(m: Array) -> str:
    """A matrix as a short text: 2 I, diag(1, 1, −1), or its size."""
    d = len(m)
    diagonal = np.diagonal(m)
    if np.array_equal(m, m[0, 0] * np.eye(d)):
        return f"{style.number(m[0, 0])} I"
    if np.array_equal(m, np.diag(diagonal)) and d <= 4:
        return f"diag({', '.join(style.number(v) for v in diagonal)})"
    return f"{d}×{d} matrix"
