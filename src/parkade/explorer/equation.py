"""The formula of a model, as a tree of MathML elements that the page can build."""

from __future__ import annotations

from typing import Any

from parkade.model.model import Model

Node = list[Any]
"""An element: its tag, the setting it stands for or None, and its children: nodes or texts."""


def equation(model: Model) -> Node | None:
    """The velocity of token k; None if it is not that of one attention head."""
    if model.product is None or model.generator is None:
        return None
    j, k = _node("mi", "j"), _node("mi", "k")
    x_j, x_k = (_node("msub", _node("mi", "x"), index) for index in (j, k))
    below = [j] if model.mask == "full" else [j, _node("mo", "≤"), k]
    score = [
        _node("mi", "β", of="beta"),
        *(_node("mo", "⟨"), _node("mi", "Q", of="Q"), x_k, _node("mo", ",")),
        *(_node("mi", "K", of="K"), x_j, _node("mo", "⟩")),
    ]
    return _node(
        "mrow",
        _node("msub", _node("mi", "ẋ"), k),
        _node("mo", "="),
        _node("msub", _node("mi", "P"), x_k),
        _node("mfrac", _node("mn", "1"), _node("msub", _node("mi", "Z"), k)),
        _node("munder", _node("mo", "∑"), _node("mrow", *below, of="mask")),
        _node("msup", _node("mi", "e"), _node("mrow", *score)),
        _node("mi", "V", of="V"),
        x_j,
    )


def _node(tag: str, *children: Any, of: str | None = None) -> Node:
    return [tag, of, *children]
