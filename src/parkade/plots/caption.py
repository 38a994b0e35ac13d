"""A one-line description of a run."""

from __future__ import annotations

from parkade.plots import style
from parkade.runs.path import Path


def caption(run: Path) -> str:
    """The model, the number of tokens, the final time and how far it can be trusted.

    Examples
    --------
    >>> import parkade as pk
    >>> from parkade import plots
    >>> plots.caption(pk.simulate(pk.Attention(d=2), pk.sphere.uniform(10, 2, seed=1), 5.0))
    'β = 1, causal mask, n = 10, t = 5'
    """
    parts = [] if run.model is None else [style.plain(run.model.label)]
    parts.append(f"n = {run.n}")
    parts += [] if run.d <= 3 else [f"d = {run.d}"]
    if len(run.frozen):
        parts.append(f"{len(run.frozen)} frozen")
    parts.append(f"t = {style.number(float(run.times[-1]))}")
    if run.trusted_until < run.times[-1]:
        parts.append(f"trusted to t = {style.number(run.trusted_until)}")
    if run.phase_known_until < run.times[-1]:
        parts.append(f"phase known to t = {style.number(run.phase_known_until)}")
    return ", ".join(parts)
