"""The modules of the page as one script: a page opened from a file cannot import modules."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from parkade.base.errors import ParkadeError

PAGE = Path(__file__).parents[1] / "page"
"""The folder of the page."""

_IMPORT = re.compile(
    r"""^import \s+ (?: \{ (?P<names>[^}]*) \} | \* \s+ as \s+ (?P<all>[\w$]+) ) \s+
    from \s+ (?P<quote>['"]) (?P<file>\.\.?/(?:[\w-]+/)*[\w.-]+\.js) (?P=quote) ;? [ ]* $""",
    re.MULTILINE | re.VERBOSE,
)
_EXPORT = re.compile(
    r"^export\s+(?=(?:async\s+function\*?|function\*?|class|const)\s+(?P<name>[\w$]+))",
    re.MULTILINE,
)
_LIST = re.compile(r"^export\s*\{(?P<names>[^}]*)\}\s*;?[ ]*$", re.MULTILINE)
_LEFT = re.compile(
    r"^(?:import|export)\b.*|^(?!\s*(?://|\*)).*\bimport\s*(?:\(|\.\s*meta\b)", re.MULTILINE
)


def bundle(*entries: Path) -> str:
    """One script that does what the modules `entries` and their imports do.

    Each module becomes a function that is called once, after those it imports, and returns
    its exports. Modules must import by name or as a whole from ``./`` or ``../``, without cycles,
    and export functions, classes and constants. No two files may have the same name.
    """
    done: dict[str, tuple[Path, str]] = {}
    for entry in entries:
        _add(entry.resolve(), done, ())
    return "\n".join(script for _, script in done.values())


def _add(path: Path, done: dict[str, tuple[Path, str]], above: tuple[str, ...]) -> None:
    """Add the module at `path` to `done`, after the modules it imports."""
    if path.name in done:
        other = done[path.name][0]
        if other != path:
            raise ParkadeError(f"modules must have different names, got {other} and {path}")
        return
    if path.name in above:
        raise ParkadeError(
            f"modules must not import each other in a cycle, got {' → '.join([*above, path.name])}"
        )
    needed, script = _wrapped(path.name, path.read_text(encoding="utf-8"))
    for file in needed:
        _add((path.parent / file).resolve(), done, (*above, path.name))
    done[path.name] = path, script


# The page has seventy modules, and its server bundles them for whoever opens it.
@lru_cache(maxsize=128)
def _wrapped(name: str, source: str) -> tuple[list[str], str]:
    """The files that a module imports, and the module as a function that is called once."""
    needed = [match["file"] for match in _IMPORT.finditer(source)]
    exports = [match["name"] for match in _EXPORT.finditer(source)]
    body = _EXPORT.sub("", _IMPORT.sub(_taken, source))
    for match in _LIST.finditer(body):
        exports += [_pair(each, " as ", "{1}: {0}") for each in _names(match["names"])]
    body = _LIST.sub("", body)
    left = _LEFT.search(body)
    if left or "</script" in source or "<!--" in source:
        what = left[0].strip() if left else "a tag"
        raise ParkadeError(
            f"{name} must use imports and exports that can be bundled, got {what}; see bundle"
        )
    returned = f"return {{ {', '.join(exports)} }};"
    return needed, f"const {_variable(name)} = (() => {{\n{body}\n{returned}\n}})();"


def _taken(match: re.Match[str]) -> str:
    """An import, as a constant."""
    names = match["all"]
    if names is None:
        renamed = [_pair(name, " as ", "{0}: {1}") for name in _names(match["names"])]
        names = f"{{ {', '.join(renamed)} }}"
    # The number of lines stays, so that errors have the same line numbers.
    return f"const {names} = {_variable(match['file'])};" + "\n" * match[0].count("\n")


def _names(text: str) -> list[str]:
    return [" ".join(name.split()) for name in text.split(",") if name.strip()]


def _pair(name: str, between: str, form: str) -> str:
    inner, separator, outer = name.partition(between)
    return form.format(inner, outer) if separator else name


def _variable(file: str) -> str:
    return "$" + re.sub(r"\W", "_", Path(file).stem)
