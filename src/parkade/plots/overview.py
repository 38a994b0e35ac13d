"""One figure that shows a run, whatever its dimension, and says what was run."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from parkade.errors import InputError
from parkade.plots import style
from parkade.plots.ball import sphere
from parkade.plots.flat import angles, circle
from parkade.plots.principal import principal_axes
from parkade.trajectory import Trajectory
from parkade.types import Array

LONG = 1e4
"""Beyond this time the interest lies in the states a run passes through."""


@style.context()
def overview(run: Trajectory) -> Figure:
    """Show a run: the circle and the angles (d=2), the sphere (d=3) or principal axes (d>3).

    A run beyond t = 10⁴ that kept its steps is shown by its life: the staircase of its
    clusters, and below it the angles (d=2) or the merge tree, over the logarithm of time.

    Examples
    --------
    >>> import parkade as pk
    >>> from parkade import plots
    >>> run = pk.simulate(pk.Attention(d=2, beta=64), pk.sphere.uniform(50, 2, seed=1), 20.0)
    >>> len(plots.overview(run).axes)
    2
    """
    if not isinstance(run, Trajectory):
        raise InputError(
            f"plots.overview needs a run, got {type(run).__name__}; "
            "pass what parkade.simulate returns"
        )
    if run.times[-1] > LONG and run.dense is not None:
        from parkade.plots.history import life

        return life(run)
    if run.model.d == 2:
        figure = style.new_figure(style.PAGE, 3.2)
        left, right = figure.subplots(1, 2, width_ratios=[1, 1.25])
        circle(run, ax=left).legend(loc="center")
        angles(run, ax=right)
    else:
        draw = sphere if run.model.d == 3 else principal_axes
        figure = style.new_figure(4.2, 4.5)
        ax = draw(run, ax=figure.add_subplot())
        handles, labels = ax.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    figure.suptitle(caption(run))
    return figure


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
