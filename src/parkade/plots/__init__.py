"""Figures with matplotlib: functions take a run and ``ax=None``, and return the Axes.

Imports `analysis`, `theory`, `runs` and below.

Nothing here uses pyplot, so it works without a display and in threads. Notebooks display the
figures made by these functions (``plots.circle(run).figure``).
"""

from parkade.plots.caption import caption
from parkade.plots.centers import centers
from parkade.plots.circles import angles, circle
from parkade.plots.counts import count_by_radius
from parkade.plots.globe import sphere
from parkade.plots.history import angle_life, life, merge_tree
from parkade.plots.lengths import lengths
from parkade.plots.overview import overview
from parkade.plots.phase import phase_diagram
from parkade.plots.principal import principal_axes
from parkade.plots.proved import proved
from parkade.plots.stairs import staircase
from parkade.plots.style import new_figure, save

__all__ = [
    "angle_life",
    "angles",
    "caption",
    "centers",
    "circle",
    "count_by_radius",
    "lengths",
    "life",
    "merge_tree",
    "new_figure",
    "overview",
    "phase_diagram",
    "principal_axes",
    "proved",
    "save",
    "sphere",
    "staircase",
]


def __dir__() -> list[str]:
    return __all__
