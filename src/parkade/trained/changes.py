"""Models of the same kind for comparison: without parts, with shuffled or random weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parkade.base import check
from parkade.base.types import Seed
from parkade.trained.block import Block, Floats

if TYPE_CHECKING:
    from parkade.trained.model import Trained

_ATTENTION = ("q", "k", "v", "o")
_NETWORK = ("up", "down", "gate")


def without(model: Trained, what: str) -> Trained:
    """The model without its MLPs, or without its attention."""
    kind = check.choice("what", what, ("mlp", "attention"))
    return changed(
        model,
        f"without {kind}",
        lambda i: replace(model.block_of(i), **{kind: None}),
    )


def shuffled(model: Trained, seed: Seed) -> Trained:
    """The model with the entries of each matrix of its layers permuted."""

    def shuffle(matrix: Floats, rng: np.random.Generator) -> Floats:
        return rng.permutation(matrix.ravel()).reshape(matrix.shape)

    return _remade(model, "shuffled", seed, (_ATTENTION, _NETWORK), shuffle)


def redrawn(model: Trained, seed: Seed, what: str) -> Trained:
    """The model with Gaussian matrices of the same second moments."""
    kind = check.choice("what", what, ("all", "mlp", "values"))
    chosen = {
        "all": (_ATTENTION, _NETWORK),
        "mlp": ((), _NETWORK),
        "values": (("v", "o"), ()),
    }[kind]

    def draw(matrix: Floats, rng: np.random.Generator) -> Floats:
        size = np.sqrt(np.mean(np.square(matrix, dtype=np.float64)))
        drawn: Floats = (size * rng.standard_normal(matrix.shape)).astype(matrix.dtype)
        return drawn

    return _remade(model, f"random {kind}", seed, chosen, draw)


def _remade(
    model: Trained,
    note: str,
    seed: Seed,
    chosen: tuple[tuple[str, ...], tuple[str, ...]],
    make: Callable[[Floats, np.random.Generator], Floats],
) -> Trained:
    """The model with some matrices replaced; the same layer always gets the same ones."""
    root = int(check.generator(seed).integers(2**62))

    def remake(part: Any, names: tuple[str, ...], rng: np.random.Generator) -> Any:
        old = {name: getattr(part, name, None) for name in names}
        new = {name: make(m, rng) for name, m in old.items() if m is not None}
        return replace(part, **new) if new else part

    def block(i: int) -> Block:
        rng, old = np.random.default_rng([root, i]), model.block_of(i)
        attention, mlp = remake(old.attention, chosen[0], rng), remake(old.mlp, chosen[1], rng)
        return replace(old, attention=attention, mlp=mlp)

    return changed(model, note, block)


def changed(model: Trained, note: str, block: Callable[[int], Block]) -> Trained:
    """The model with other blocks, and a note behind its name."""
    return type(model)(
        f"{model.name} ({note})",
        model.shape,
        model.dtype,
        block,
        lambda: model.ends,
        model.tokenizer,
    )
