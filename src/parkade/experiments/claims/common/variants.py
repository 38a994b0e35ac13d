"""Causal attention with V = I, and what becomes of it with other parts of a transformer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from parkade.analysis.ending import return_rate
from parkade.base.types import Array
from parkade.model import sphere
from parkade.model.parts.head import Head
from parkade.model.parts.mask import Window
from parkade.model.parts.mlp import MLP
from parkade.model.parts.position import Alibi, Rope
from parkade.model.transformer import Transformer
from parkade.solve.simulate import simulate

SHARE = 1 / 4
"""β of the second head, as a share of that of the first."""

EPSILON = 0.01
"""The size of an MLP: its largest tangential force, where attention has forces up to 1."""

WIDTH = 32
"""Hidden units of an MLP: enough to make a region where all are off unlikely."""

WINDOW = 8

SLOPE = 0.25
"""Slope of ALiBi, per place in the text."""

AT = 1e-6
"""Distance at which a token has arrived."""

FIRM = 1e-8
"""The slowest rate of return of a stable rest: below it, differences are rounding errors."""


Build: TypeAlias = Callable[[int, float, np.random.Generator], Transformer]


@dataclass(frozen=True)
class Variant:
    """A transformer that differs in one part from causal attention with V = I.

    Attributes
    ----------
    name : str
    build : function (d, beta, rng) -> Transformer
    survives : bool
        Whether all tokens end at x_1(0) as we derive it.
    """

    name: str
    build: Build
    survives: bool = True


def mlp(d: int, rng: np.random.Generator, size: float, symmetric: bool) -> MLP:
    """A random ReLU network; its largest tangential force on a unit vector is about `size`.

    On the circle, networks that only turn tokens round and round are drawn again.
    """
    x = sphere.uniform(1000, d, rng)
    while True:
        W1 = rng.standard_normal((WIDTH, d))
        W2 = W1.T if symmetric else rng.standard_normal((d, WIDTH))
        force = np.maximum(x @ W1.T, 0) @ W2.T
        turn = x[:, 0] * force[:, 1] - x[:, 1] * force[:, 0]
        if d > 2 or turn.min() < 0 < turn.max():
            break
    largest = np.linalg.norm(sphere.project(x, force), axis=1).max()
    return MLP(W1, W2 * (size / largest))


def _changed(**parts: object) -> Build:
    def build(d: int, beta: float, rng: np.random.Generator) -> Transformer:
        return Transformer([Head(d=d, beta=beta)], **parts)  # type: ignore[arg-type]

    return build


def _heads(first: Callable[[int], Array]) -> Build:
    """Two heads, the second with a smaller β, whose values add up to I."""

    def build(d: int, beta: float, rng: np.random.Generator) -> Transformer:
        V = first(d)
        other = Head(V=np.eye(d) - V, beta=SHARE * beta)
        return Transformer([Head(V=V, beta=beta), other])

    return build


def _with_mlp(symmetric: bool) -> Build:
    def build(d: int, beta: float, rng: np.random.Generator) -> Transformer:
        return Transformer([Head(d=d, beta=beta)], mlp=mlp(d, rng, EPSILON, symmetric))

    return build


def at_rest(model: Transformer, x: Array) -> bool:
    """Whether tokens are so close to a stable equilibrium that they stay, even if barely held."""
    rate = return_rate(model, x)
    return rate > FIRM and float(np.abs(model.velocity(x)).max()) < AT * rate


def mirror(beta: float) -> float:
    """How far from the mirror image of x_1 the second of two tokens ends; π if it is not stable.

    With β = 32 and x_1 at 30°, the pull of the first head there is e^{−48}.
    """
    model = Transformer([Head(V=[1, 0], beta=beta), Head(V=[0, 1], beta=0.0)])
    run = simulate(model, sphere.from_angles(np.radians([30.0, 140.0])), 1e9, tol=1e-9)
    off = float(sphere.distance(run.final[1], sphere.from_angles([np.radians(150.0)])[0]))
    return off if at_rest(model, run.final) else np.pi


VARIANTS = (
    Variant("post-norm", _changed()),
    Variant("pre-norm", _changed(norm="pre")),
    Variant("peri-norm", _changed(norm="peri")),
    Variant("nGPT", _changed(norm="ngpt")),
    Variant("sqrt scaling", _changed(norm="sqrt")),
    Variant("window of 8", _changed(mask=Window(WINDOW))),
    Variant("ALiBi", _changed(position=Alibi(SLOPE))),
    Variant("RoPE", _changed(position=Rope())),
    Variant("heads I/2, I/2", _heads(lambda d: np.eye(d) / 2)),
    Variant("heads P, I−P", _heads(lambda d: np.diag(np.eye(d)[0])), survives=False),
    Variant("heads 2I, −I", _heads(lambda d: 2 * np.eye(d)), survives=False),
    Variant("MLP", _with_mlp(symmetric=False), survives=False),
    Variant("MLP, W2 = W1ᵀ", _with_mlp(symmetric=True), survives=False),
    Variant("hardmax", _changed(attention="hardmax"), survives=False),
)
"""All of them; the first is the paper's model."""
