"""Tables of text for terminals and files."""

from __future__ import annotations

import itertools
import shutil
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

GAP = "  "  # between columns


class Column(NamedTuple):
    """How a column looks.

    Attributes
    ----------
    name : str
        Its heading. A table whose columns have no names has no heading.
    right : bool
        Whether cells are aligned to the right.
    least : int
        The smallest width.
    share : int
        0 keeps the column as wide as its longest cell. Columns with a share fold their text
        where the table is too wide, and divide the remaining width in these proportions.
    """

    name: str = ""
    right: bool = False
    least: int = 0
    share: int = 0


def terminal_width() -> int:
    """The number of columns of the terminal; 80 if there is none."""
    return shutil.get_terminal_size().columns


def text_table(
    columns: Sequence[Column],
    rows: Iterable[Sequence[str]],
    *,
    width: int | None = None,
    rule: bool = False,
) -> str:
    """Format rows of text as aligned columns.

    Parameters
    ----------
    columns : sequence of Column
    rows : iterable of sequences of str
        One cell for each column.
    width : int, optional
        The maximum width. Columns with a share fold to fit. Lines that are still too long are
        cut and end in "…".
    rule : bool
        Draw a line below the heading.

    Returns
    -------
    str
        Lines without trailing blanks.

    Examples
    --------
    >>> print(text_table([Column("n", right=True), Column("what")], [["7", "tokens"]]))
    n  what
    7  tokens
    """
    heading = [[column.name for column in columns]] if any(c.name for c in columns) else []
    cells = [*heading, *rows]
    widths = [
        max(column.least, *(len(row[i]) for row in cells)) if cells else column.least
        for i, column in enumerate(columns)
    ]
    if width is not None:
        widths = _fit(columns, widths, width - len(GAP) * (len(columns) - 1))
    lines = [line for row in cells for line in _lines(columns, widths, row)]
    if rule and heading:
        total = sum(widths) + len(GAP) * (len(columns) - 1)
        lines.insert(len(_lines(columns, widths, heading[0])), "─" * total)
    if width is not None:
        lines = [line if len(line) <= width else f"{line[: width - 1]}…" for line in lines]
    return "\n".join(lines)


def record_table(records: Sequence[Mapping[str, str]], width: int) -> str:
    """Records as an indented table, with the last column left-aligned; "none" if there are none.

    Examples
    --------
    >>> print(record_table([{"n": "7", "what": "tokens"}], width=80))
      n  what
      7  tokens
    """
    if not records:
        return f"{GAP}none"
    names = list(records[0])
    columns = [Column(name, right=name != names[-1]) for name in names]
    rows = [list(record.values()) for record in records]
    return textwrap.indent(text_table(columns, rows, width=width - len(GAP)), GAP)


def _fit(columns: Sequence[Column], widths: Sequence[int], room: int) -> list[int]:
    """Widths whose sum is at most `room`, if columns with a share can shrink enough."""
    fitted = list(widths)
    shrinking = [i for i, column in enumerate(columns) if column.share]
    room -= sum(w for i, w in enumerate(widths) if i not in shrinking)
    while shrinking:
        total = sum(columns[i].share for i in shrinking)
        fair = {i: max(1, room * columns[i].share // total) for i in shrinking}
        small = [i for i in shrinking if widths[i] <= fair[i]]
        if not small:
            for i in shrinking:
                fitted[i] = fair[i]
            break
        room -= sum(widths[i] for i in small)  # these leave more room for the others
        shrinking = [i for i in shrinking if i not in small]
    return fitted


def _lines(columns: Sequence[Column], widths: Sequence[int], row: Sequence[str]) -> list[str]:
    """The lines of one row: several if a cell is folded."""
    folded = [
        textwrap.wrap(cell, w, break_on_hyphens=False) if column.share and len(cell) > w else [cell]
        for column, w, cell in zip(columns, widths, row, strict=True)
    ]
    lines = []
    for part in itertools.zip_longest(*folded, fillvalue=""):
        cells = (
            cell.rjust(w) if column.right else cell.ljust(w)
            for column, w, cell in zip(columns, widths, part, strict=True)
        )
        lines.append(GAP.join(cells).rstrip())
    return lines
