"""The formula of a model, as a tree of MathML elements that the page builds.

Symbols that stand for a setting carry its name, so that they light up together with its control.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from parkade.model.model import Model
from parkade.model.parts.norm import NGPT, Mix, Norm
from parkade.model.parts.position import Alibi, Position, Rope
from parkade.model.scheduled import Scheduled
from parkade.model.transformer import Transformer

Node = list[Any]
"""An element: its tag, the setting it stands for or None, and its children: nodes or texts."""


@dataclass(frozen=True)
class Features:
    """The features of a model that decide about its formula.

    Attributes
    ----------
    mask, norm, position : str, Norm, Position or None
        As those of a `Transformer`.
    heads, mlp, noise : bool, bool, str
        Whether there are several heads, and an MLP; "own" or "common" noise, or none.
    changes, grows : bool
        Whether β depends on time, and whether it does by the setting `growth`.
    """

    mask: str
    norm: Norm
    position: Position | None = None
    heads: bool = False
    mlp: bool = False
    noise: str = ""
    changes: bool = False
    grows: bool = False

    @property
    def plain(self) -> bool:
        """Whether one line has all of it."""
        parts = self.position, self.heads, self.mlp, self.noise, self.changes
        return self.norm.name == "post" and self.mask in ("causal", "full") and not any(parts)


def equation(model: Model, grows: bool = False) -> Node | None:
    """The velocity of token k; None if it is not that of softmax heads, an MLP and a norm.

    With `grows`, the β(t) of a schedule is that of the setting `growth`.
    """
    changes = isinstance(model, Scheduled)
    if isinstance(model, Scheduled):
        model = model.model
    if not isinstance(model, Transformer) or model.parts or not model.scores:
        return None
    several, noise = len(model.heads) > 1, ""
    if model.noise is not None:
        noise = "common" if model.noise.common else "own"
    mlp, mask = model.mlp is not None, str(model.mask)
    return written(
        Features(mask, model.norm, model.position, several, mlp, noise, changes, changes and grows)
    )


def written(features: Features) -> Node:
    """The formula of models with these features."""
    sharpness = [_node("mi", "β", of="beta"), *(_of_time() if features.changes else [])]
    if features.plain:
        return _row(
            *_sides(_dot("x"), _projection()), *_attention(features, _score(features, sharpness))
        )
    moved = [*_clock(features.norm), _projection(), _sub("F"), *_noise(features)]
    rows = [_row(*_sides(_dot("x"), *moved))]
    rows += _growth(features.norm)
    score = _of_head(features, "S", "k", "j")
    force = _attention(features, [score])
    if features.mlp:
        x = _sub("x")
        force += [_op("+"), _node("mi", "G", of="mlp"), _op("("), x, _op(")")]
    rows += [_row(*_sides(_sub("F"), *force)), _row(*_sides(score, *_score(features, sharpness)))]
    rows += [_growing(sharpness)] if features.grows else []
    lines = [_node("mtr", _node("mtd", row)) for row in rows]
    return _node("mtable", *lines)


def _attention(features: Features, score: list[Node]) -> list[Node]:
    """The weighted means of the values, with the score in the exponent."""
    several = features.heads
    outer = [_node("munder", _op("∑"), _node("mi", "h", of="heads"))] if several else []
    value = _node("mi", "V", of="V")
    return [
        *outer,
        _node("mfrac", _node("mn", "1"), _of_head(features, "Z", "k")),
        _node("munder", _op("∑"), _row(*_keys(features), of="mask")),
        _node("msup", _node("mi", "e"), _row(*score)),
        _node("msub", value, _node("mi", "h")) if several else value,
        _sub("x", "j"),
    ]


def _of_head(features: Features, name: str, *indices: str) -> Node:
    """A symbol with indices, and with h above them if there are several heads."""
    plain = _sub(name, *indices)
    if not features.heads:
        return plain
    return _node("msubsup", *plain[2:], _node("mi", "h"))


def _keys(features: Features) -> list[Node]:
    """The tokens j to which token k attends."""
    j, k = _node("mi", "j"), _node("mi", "k")
    name, _, number = features.mask.rstrip(")").partition("(")
    count = _node("mn", number)
    if name == "window":
        return [k, _op("−"), count, _op("<"), j, _op("≤"), k]
    if name == "prefix":
        largest = [_node("mi", "max"), _op("("), k, _op(","), count, _op(")")]
        return [j, _op("≤"), *largest]
    return [j] if name == "full" else [j, _op("≤"), k]


def _of_time() -> list[Node]:
    return [_op("("), _node("mi", "t"), _op(")")]


def _growing(sharpness: list[Node]) -> Node:
    """How β grows with time."""
    beta, b = _node("mi", "β", of="beta"), _node("mi", "b", of="growth")
    log = [_node("mi", "ln"), _op("("), _node("mn", "1"), _op("+"), _node("mi", "t"), _op(")")]
    return _row(*_sides(_row(*sharpness), beta, _op("+"), b, *log), of="growth")


def _score(features: Features, sharpness: list[Node]) -> list[Node]:
    """What the weights are the exponentials of."""
    several, position = features.heads, features.position

    def side(name: str, token: str) -> list[Node]:
        matrix = _node("mi", name, of=name)
        turn = [_sub("R", token, of="encoding")] if isinstance(position, Rope) else []
        own = _node("msub", matrix, _node("mi", "h")) if several else matrix
        return [*turn, own, _sub("x", token)]

    inside = [_op("⟨"), *side("Q", "k"), _op(","), *side("K", "j"), _op("⟩")]
    bias = []
    if isinstance(position, Alibi):
        slope = f"{position.slope:g}" if position.slope.ndim == 0 else "m"
        places = [_op("|"), _node("mi", "k"), _op("−"), _node("mi", "j"), _op("|")]
        bias = [_op("−"), _row(_node("mn", slope), *places, of="encoding")]
    return [*sharpness, *inside, *bias]


def _clock(norm: Norm) -> list[Node]:
    """The factor 1/s_k by which the norm slows a token down."""
    one = _node("mn", "1")
    if norm.name == "post":
        return []
    if isinstance(norm, NGPT):
        return [_over(_node("mn", f"{norm.alpha:g}"), *_size())]
    if norm.name == "sqrt":
        later = _row(_node("mi", "t"), _op("+"), one)
        return [_over(one, _node("msqrt", later))]
    length = [_sub("s" if isinstance(norm, Mix) else "r")]
    return [_over(one, *length, *(_size() if norm.name == "peri" else []))]


def _growth(norm: Norm) -> list[Node]:
    """How the length of a token changes, if it has one."""
    if not norm.radii:
        return []
    radial = [_op("⟨"), _sub("x"), _op(","), _sub("F"), _op("⟩")]
    if norm.name == "peri":
        radial = [_op("⟨"), _sub("x"), _op(","), _sub("F"), _op("⟩"), _op("/"), *_size()]
    grows = _row(*_sides(_dot("r"), *radial), of="norm")
    if not isinstance(norm, Mix):
        return [grows]
    since = _node("mtext", f" from t = {norm.tau:g} on", of="norm")
    return [_row(*_sides(_sub("s"), _node("mn", "1"), _op(","), _sub("r"), since)), grows]


def _noise(features: Features) -> list[Node]:
    """Brownian motion, if there is any."""
    if not features.noise:
        return []
    scale = _node("msqrt", _node("mfrac", _node("mn", "2"), _node("mi", "κ")))
    path = _node("mi", "Ẇ") if features.noise == "common" else _sub("Ẇ")
    return [_op("+"), _row(scale, _projection(), _op("∘"), path, of="noise")]


def _size() -> list[Node]:
    return [_op("|"), _sub("F"), _op("|")]


def _projection() -> Node:
    return _node("msub", _node("mi", "P"), _sub("x"))


def _over(above: Node, *below: Node) -> Node:
    return _node("mfrac", above, _row(*below), of="norm")


def _sides(left: Node, *right: Node) -> list[Node]:
    return [left, _op("="), *right]


def _dot(name: str) -> Node:
    return _sub({"x": "ẋ", "r": "ṙ"}[name])


def _sub(name: str, *indices: str, of: str | None = None) -> Node:
    """A symbol with indices, k by default."""
    below = [_node("mi", index) for index in indices or ("k",)]
    return _node("msub", _node("mi", name), below[0] if len(below) == 1 else _row(*below), of=of)


def _op(sign: str) -> Node:
    return _node("mo", sign)


def _row(*children: Node, of: str | None = None) -> Node:
    return _node("mrow", *children, of=of)


def _node(tag: str, *children: Any, of: str | None = None) -> Node:
    return [tag, of, *children]
