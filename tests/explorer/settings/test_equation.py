"""The formula of a model, as the page builds it."""

from __future__ import annotations

import pytest

import parkade as pk
from parkade.explorer.settings.equation import equation
from parkade.explorer.settings.settings import FIELDS


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


def rows(model):
    """The lines of a formula."""
    return [text(row) for row in equation(model)[2:]]


def test_masks_with_a_number():
    score = "Skj=β⟨Qxk,Kxj⟩"
    assert rows(pk.Attention(d=2, mask="window(16)")) == [
        "ẋk=PxkFk", "Fk=1Zk∑k−16<j≤keSkjVxj", score
    ]  # fmt: skip
    assert "∑j≤max(k,3)e" in rows(pk.Attention(d=2, mask="prefix(3)"))[1]


def test_parts():
    heads = [pk.Head(d=2), pk.Head(d=2)]
    model = pk.Transformer(heads, mlp=pk.MLP.random(2, seed=1), position=pk.Rope(), norm="pre")
    assert rows(model) == [
        "ẋk=1rkPxkFk",
        "ṙk=⟨xk,Fk⟩",
        "Fk=∑h1Zkh∑j≤keSkjhVhxj+G(xk)",
        "Skjh=β⟨RkQhxk,RjKhxj⟩",
    ]
    assert settings(equation(model)) <= set(FIELDS)
    assert {"heads", "mlp", "encoding", "norm"} <= settings(equation(model))
    biased = pk.Transformer(heads[:1], position=pk.Alibi(0.5))
    assert rows(biased)[-1] == "Skj=β⟨Qxk,Kxj⟩−0.5|k−j|"


@pytest.mark.parametrize(
    ("norm", "lines"),
    [
        (pk.Mix(5.0), ["ẋk=1skPxkFk", "sk=1,rk from t = 5 on", "ṙk=⟨xk,Fk⟩"]),
        ("peri", ["ẋk=1rk|Fk|PxkFk", "ṙk=⟨xk,Fk⟩/|Fk|"]),
        (pk.NGPT(0.5), ["ẋk=0.5|Fk|PxkFk"]),
        ("sqrt", ["ẋk=1t+1PxkFk"]),
    ],
)
def test_clocks(norm, lines):
    assert rows(pk.Transformer([pk.Head(d=2)], norm=norm))[:-2] == lines


def test_other_models_have_no_formula():
    assert equation(pk.Transformer([pk.Head(d=2)], attention="linear")) is None
    assert equation(pk.Flow(lambda t, x: 0 * x, 2)) is None


def test_noise_is_a_term_of_its_own():
    noisy = pk.Attention(2, noise=8.0)
    assert rows(noisy)[0] == "ẋk=PxkFk+2κPxk∘Ẇk"
    assert "noise" in settings(equation(noisy))
    assert rows(pk.Attention(2, noise=pk.Noise(8.0, common=True)))[0] == "ẋk=PxkFk+2κPxk∘Ẇ"
