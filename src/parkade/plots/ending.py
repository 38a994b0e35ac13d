"""A run on S² with the prediction from the spectrum of V."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from parkade.analysis import sentences
from parkade.base.errors import InputError
from parkade.model.sphere import from_angles
from parkade.plots import globe, style
from parkade.plots.globe import sphere
from parkade.runs.path import Path
from parkade.theory import final_configuration


@style.context()
def draw_ending(run: Path, name: str, ax: Axes) -> tuple[str, str]:
    """Draw a run in d=3 and V's leading eigenspace L; return what is expected and what is seen.

    The title of the axes shows both, below the `name` of V.
    """
    sphere(run, ax=ax)
    if run.model is None or run.model.generator is None or not run.model.plain:
        raise InputError("draw_ending needs a run of a model with a value matrix V")
    final = final_configuration(run.model.generator)
    view = globe.camera(globe.AZIMUTH, globe.ELEVATION)
    if final.dim == 2:
        equator = from_angles(np.linspace(0, 2 * np.pi, 121)) @ final.basis.T
        look: dict[str, Any] = {"colors": style.GREEN, "linewidths": 0.9, "linestyles": "dashed"}
        globe.draw_lines(ax, [equator @ view], zorder=2, **look)
        ax.plot([], [], color=style.GREEN, linewidth=0.9, linestyle="dashed", label="L")
    elif final.dim == 1:
        ends = np.array([final.basis[:, 0], -final.basis[:, 0]]) @ view
        ax.plot(ends[:, 0], ends[:, 1], "x", color=style.GREEN, markersize=8, zorder=2.4)
    expected, seen = sentences.expected(final), sentences.seen(final, run.final)
    ax.set_title(f"{style.plain(name)}\nexpected: {expected}\nseen: {seen}", linespacing=1.35)
    return expected, seen
