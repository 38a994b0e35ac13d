"""The formulas of all models as one tree with choices: a page without a server follows them.

The tree is made from what `equation` says of each kind of model, so formulas are written once.
"""

from __future__ import annotations

import itertools
import math
from functools import cache
from typing import Any

from parkade.explorer.settings.equation import Features, Node, written
from parkade.explorer.settings.kinds import Choice
from parkade.explorer.settings.parts import STILL, norm_of, position
from parkade.explorer.settings.settings import FIELDS

_ABOVE: dict[str, dict[str, float]] = {
    "heads": {"heads": 1},
    "mlp": {"mlp": 0, "gain": 0.0},
    "growth": {"growth": 0.0},
    "noise": {"noise": STILL},
}
_CHOICES = ("mask", "norm", "encoding")
# Values that a formula shows; these occur in none by chance.
_SHOWN = {"reach": 1789, "slope": 0.1789}

Case = dict[str, Any]
"""What decides: the value of a choice, whether a part is there, and whether it is "plain"."""


@cache
def formula() -> dict[str, Any]:
    """The tree, ready for JSON, and what decides in it.

    Returns
    -------
    dict
        "above": for each part that may be there, the settings that are larger than a number then.
        "plain": what is so if the formula is a single line. "tree": nodes as those of `equation`,
        and choices {"by": name, "of": {value: node}}; a text may be {"setting": name} instead,
        which is the value of that setting.
    """
    names = [*_CHOICES, *_ABOVE]
    options = [list(_options(name)) for name in names]
    formulas = []
    for values in itertools.product(*options):
        case = dict(zip(names, values, strict=True))
        if case["growth"] and case["norm"] == "mix":
            continue  # refused
        plain = all(case[name] in some for name, some in _PLAIN.items())
        formulas.append(({"plain": plain, **case}, _equation(case)))
    return {"above": _ABOVE, "plain": _PLAIN, "tree": _merged(formulas)}


_PLAIN: dict[str, list[Any]] = {
    "mask": ["causal", "full"],
    "norm": ["post"],
    "encoding": ["none"],
    "heads": [False],
    "mlp": [False],
    "growth": [False],
    "noise": [False],
}


def _options(name: str) -> list[Any]:
    field = FIELDS[name]
    return list(field.options) if isinstance(field, Choice) else [False, True]


def _equation(case: Case) -> Any:
    """The formula of the models of a case."""
    chosen = case | _SHOWN
    mask = case["mask"]
    if mask not in ("causal", "full"):
        mask = f"{mask}({_SHOWN['reach']})"
    grows = case["growth"]
    features = Features(
        mask, norm_of(chosen), position(chosen), case["heads"], case["mlp"],
        "own" if case["noise"] else "", grows, grows,
    )  # fmt: skip
    return _named(written(features))


def _named(node: Node | str | None) -> Any:
    """A node with the names of settings in place of their values."""
    if isinstance(node, str):
        names = [name for name, value in _SHOWN.items() if node == f"{value:g}"]
        return {"setting": names[0]} if names else node
    return node and [*node[:2], *map(_named, node[2:])]


def _merged(formulas: list[tuple[Case, Any]]) -> Any:
    """One node for several cases: where they differ, it has choices."""
    first = formulas[0][1]
    if all(node == first for _, node in formulas):
        return first
    if len({_outline(node) for _, node in formulas}) == 1:
        inner = (
            _merged([(case, node[i]) for case, node in formulas]) for i in range(2, len(first))
        )
        return [*first[:2], *inner]
    best = "plain"  # what is all different comes first
    if len(_parts(formulas, best)) < 2:
        best = min(formulas[0][0], key=lambda name: _mixture(formulas, name))
    parts = _parts(formulas, best)
    return {"by": best, "of": {key: _merged(part) for key, part in parts.items()}}


def _outline(node: Any) -> tuple[Any, ...]:
    """What nodes must share to be one."""
    return (*node[:2], len(node)) if isinstance(node, list) else (str(node),)


def _mixture(formulas: list[tuple[Case, Any]], name: str) -> float:
    """How many kinds of nodes are left together if a setting decides; infinite if it cannot."""
    parts = _parts(formulas, name)
    if len(parts) < 2:
        return math.inf
    kinds = sum(len({_outline(node) for _, node in part}) for part in parts.values())
    return kinds / len(parts)


def _parts(formulas: list[tuple[Case, Any]], name: str) -> dict[str, list[tuple[Case, Any]]]:
    """The cases by the value of a setting, as a script would write it."""
    parts: dict[str, list[tuple[Case, Any]]] = {}
    for case, node in formulas:
        value = case[name]
        key = str(value).lower() if isinstance(value, bool) else value
        parts.setdefault(key, []).append((case, node))
    return parts
