"""The formula of a model, as the page builds it."""

from __future__ import annotations

import parkade as pk
from parkade.explorer.equation import equation
from parkade.explorer.settings import FIELDS


def text(node):
    """The characters of a formula."""
    _, _, *children = node
    return "".join(child if isinstance(child, str) else text(child) for child in children)


def settings(node):
    """The settings that its symbols stand for."""
    _, of, *children = node
    nested = [settings(child) for child in children if not isinstance(child, str)]
    return {of} - {None} | set().union(*nested)


def test_the_mask_is_in_the_sum():
    assert text(equation(pk.Attention(d=2))) == "ẋk=Pxk1Zk∑j≤keβ⟨Qxk,Kxj⟩Vxj"
    assert text(equation(pk.Attention(d=2, mask="full"))) == "ẋk=Pxk1Zk∑jeβ⟨Qxk,Kxj⟩Vxj"


def test_symbols_stand_for_settings():
    assert settings(equation(pk.Attention(d=2))) == {"beta", "Q", "K", "V", "mask"} <= set(FIELDS)


def test_only_one_head_has_a_formula():
    assert equation(pk.Transformer([pk.Head(d=2), pk.Head(d=2)])) is None
    assert equation(pk.Flow(lambda t, x: 0 * x, 2)) is None
