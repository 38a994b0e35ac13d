"""Figures of the gallery. Parkade does not use pyplot, so the gallery cannot find them there."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

from parkade import plots
from parkade.plots import style


def parkade_style(gallery_conf: dict[str, Any], name: str) -> None:
    """Before each example: what it draws itself has the style of parkade's figures."""
    mpl.rcParams.update(style.RC)


def last_figure(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figure that the last line of a block of code gives, as a notebook would show it."""
    names = block_vars["example_globals"]
    value = names.get("___")  # the gallery's name for that value
    names["___"] = None  # so that the next block does not show it again
    figure = value.figure if isinstance(value, Axes) else value
    if not isinstance(figure, Figure):
        return ""
    path = next(block_vars["image_path_iterator"])
    plots.save(figure, path)
    return str(figure_rst([path], gallery_conf["src_dir"]))
