"""Files of experiments: pictures, tables and texts. All of them are written here."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from parkade.base.files import atomic_write

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Picture:
    """A picture: its PNG file, with a PDF of the same name beside it."""

    path: Path
    caption: str

    @property
    def paths(self) -> tuple[Path, Path]:
        """The PNG and the PDF."""
        return self.path, self.path.with_suffix(".pdf")


@dataclass(frozen=True)
class Table:
    """Rows of text; the first is the heading.

    Attributes
    ----------
    rows : list of lists of str
    file : str
        Name of a CSV file to write; "" writes none.
    delimiter : str
        What separates the cells in the file: a character that no cell contains.
    """

    rows: Sequence[Sequence[str]]
    file: str = ""
    delimiter: str = ","


def save_picture(
    draw: Callable[[Figure], None], height: float, path: Path, caption: str
) -> Picture:
    """Draw a figure as wide as a page and save it as PNG (at `path`) and as PDF."""
    from parkade import plots
    from parkade.plots import style

    figure = plots.new_figure(style.PAGE, height)
    with style.context():
        draw(figure)
    picture = Picture(path, caption)
    for file in reversed(picture.paths):
        plots.save(figure, file)
        figure.set_layout_engine("none")  # the second file has the layout of the first
    return picture


def write_table(table: Table, folder: Path) -> Path:
    """Write a table as a CSV file."""
    text = io.StringIO()
    csv.writer(text, delimiter=table.delimiter, lineterminator="\n").writerows(table.rows)
    return write(folder / table.file, text.getvalue())


def write(path: Path, content: str | bytes) -> Path:
    """Write a file that is complete or not there."""
    with atomic_write(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)
    return path
