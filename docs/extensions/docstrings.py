"""Docstrings are plain text, in which |x| is a length; reStructuredText would replace it."""

from __future__ import annotations

import re
from typing import Any

_BARE = re.compile(r"(?<!\\)\|")


def escaped(lines: list[str]) -> list[str]:
    """Lines of reStructuredText with | as a character, except in code."""
    found, code = [], False
    for line in lines:
        # An example ends at an empty line; other code is between double backquotes.
        code = line.lstrip().startswith(">>>") or (code and bool(line.strip()))
        pieces = re.split(r"(``.*?``)", line)
        pieces[::2] = [_BARE.sub(r"\\|", piece) for piece in pieces[::2]]
        found.append(line if code else "".join(pieces))
    return found


def _process(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    lines[:] = escaped(lines)


def setup(app: Any) -> dict[str, Any]:
    """For Sphinx."""
    app.connect("autodoc-process-docstring", _process, priority=900)  # after numpydoc
    return {"parallel_read_safe": True, "version": "1"}
