"""The view of a page that is written to a file, as a link has it after "#"."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from parkade.base import check
from parkade.base.errors import InputError
from parkade.explorer.settings.settings import FIELDS

TOGGLES = "trails", "renyi", "strong", "caps", "names", "notes", "forecast", "proved", "group"
"""What `show` of a view may name: those of `page/controls/link.js`."""
STEPS = 7
"""The number of steps of the tour: those of `page/tour/steps.js`."""


class _Part(NamedTuple):
    """One part of a view: what its text must be, an example, and whether a text is that."""

    kind: str
    example: str
    fits: Callable[[str], bool]


def _numbers(text: str) -> list[float]:
    try:
        numbers = [float(number) for number in text.split(",")]
    except ValueError:
        return []
    return numbers if all(map(math.isfinite, numbers)) else []


def _whole(text: str, highest: int) -> bool:
    return text.isascii() and text.isdecimal() and 1 <= int(text) <= highest


def _parts(n: int, live: bool) -> dict[str, _Part]:
    """The parts of a view of n tokens, in a page that computes or in one that does not."""
    return {
        "t": _Part("a time from 0", "1e13", lambda text: min(_numbers(text), default=-1) >= 0),
        "turn": _Part(
            "four numbers, a quaternion", "0.8,0.6,0,0",
            lambda text: len(_numbers(text)) == 4 and any(_numbers(text)),
        ),
        "zoom": _Part(
            "a number above 0", "2", lambda text: len(_numbers(text)) == 1 and float(text) > 0
        ),
        "pan": _Part("two numbers", "0.1,0", lambda text: len(_numbers(text)) == 2),
        "color": _Part(
            "cluster or position", "position", lambda text: text in ("cluster", "position")
        ),
        "show": _Part(
            f"some of {', '.join(TOGGLES)}", "trails,names",
            lambda text: set(text.split(",")) <= {*TOGGLES, ""},
        ),
        "token": _Part(f"a token from 1 to {n}", "1", lambda text: _whole(text, n)),
        "beside": _Part(
            "forecast, or a setting and its value in a live page", "forecast",
            lambda text: text == "forecast" or (live and text.partition(":")[0] in FIELDS),
        ),
        "many": _Part("1, for other seeds", "1", "1".__eq__),
        "tour": _Part(f"a step from 1 to {STEPS}", "3", lambda text: _whole(text, STEPS)),
        "talk": _Part("1, for a presentation", "1", "1".__eq__),
    }  # fmt: skip


def checked(view: Any, n: int, *, live: bool = False) -> str:
    """A view of n tokens, without the "#" that a link has.

    Settings may stand in it, since links have them, and say nothing: a page shows its own run.
    """
    if not isinstance(view, str):
        raise InputError(
            f'view must be a text like "t=1e13&token=5", as a link has it after "#", '
            f"got {check.brief(view)}"
        )
    link: str = view.removeprefix("#")
    parts = _parts(n, live)
    for name, text in parse_qsl(link, keep_blank_values=True):
        if name in FIELDS:
            continue
        if name not in parts:
            raise InputError(
                f"view must have parts out of {', '.join(parts)}, got {check.brief(name)}; write "
                'for example "t=1e13&token=5"'
            )
        if not parts[name].fits(text):
            raise InputError(
                f"{name} of a view must be {parts[name].kind}, got {check.brief(text)}; write for "
                f'example "{name}={parts[name].example}"'
            )
    return link
