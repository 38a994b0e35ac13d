"""`Assembled`: what a model made of heads and other parts consists of, and its traits."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from parkade.base.types import Array
from parkade.model.model import Model, Scores
from parkade.model.part import Part
from parkade.model.parts import norm as norms
from parkade.model.parts.depth import Resampled
from parkade.model.parts.head import Head
from parkade.model.parts.mask import Mask
from parkade.model.parts.mlp import MLP
from parkade.model.parts.noise import Noise
from parkade.model.parts.norm import Norm
from parkade.model.parts.position import Position

_FEW = 2  # heads that `repr` writes out


class Assembled(Model):
    """The parts of a transformer, and what the rest asks of them; see `Transformer`."""

    heads: tuple[Head, ...]
    mlp: MLP | None
    parts: tuple[Part, ...]
    mask: Mask
    norm: Norm
    position: Position | None
    attention: str
    noise: Noise | None
    depth: Resampled | None
    _slopes: Array  # of the bias of each head against distance in the sequence

    def __repr__(self) -> str:
        few = len(self.heads) <= _FEW
        inside = [f"heads={list(self.heads)!r}" if few else f"heads=<{len(self.heads)}>"]
        inside += [f"mlp={self.mlp!r}"] if self.mlp else []
        inside += [f"parts={list(self.parts)!r}"] if self.parts else []
        inside += [f"{name}={_shown(value)}" for name, value in self._choices().items()]
        return f"{type(self).__name__}({', '.join(inside)}, mask={str(self.mask)!r})"

    def _choices(self) -> dict[str, Any]:
        """Normalisation, positions, weights, noise and depth, if they are not the usual ones."""
        usual = {
            "norm": norms.NORMS["post"],
            "position": None,
            "attention": "softmax",
            "noise": None,
            "depth": None,
        }
        return {name: now for name in usual if (now := getattr(self, name)) != usual[name]}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Assembled) and (
            (self.d, self.heads, self.mlp, self.parts, self.mask, self._choices())
            == (other.d, other.heads, other.mlp, other.parts, other.mask, other._choices())
        )

    __hash__ = None  # type: ignore[assignment]  # models contain arrays

    @property
    def _terms(self) -> tuple[Part, ...]:
        return (*self.heads, *(() if self.mlp is None else (self.mlp,)), *self.parts)

    @property
    def plain(self) -> bool:  # type: ignore[override]
        """Whether it is the model of the paper: one head and nothing else."""
        alone = len(self._terms) == len(self.heads) == 1
        return alone and not self._biased and not self._choices()

    @property
    def _biased(self) -> bool:
        return any(head.biased for head in self.heads)

    @property
    def triangular(self) -> bool:  # type: ignore[override]
        """Whether no token depends on a later one."""
        return self.mask.triangular and all(part.triangular for part in self._terms)

    @property
    def autonomous(self) -> bool:  # type: ignore[override]
        """Whether neither the normalisation, nor a part, nor the heads depend on the time."""
        changes = self.depth is not None or not self.norm.autonomous
        return not changes and all(part.autonomous for part in self._terms)

    @property
    def radii(self) -> bool:  # type: ignore[override]
        """Whether tokens have lengths."""
        return self.norm.radii

    @property
    def sharpness(self) -> float:  # type: ignore[override]
        """The largest β‖KᵀQ‖ of a head."""
        return max((part.sharpness for part in self._terms), default=0.0)

    @cached_property
    def rate(self) -> float:  # type: ignore[override]
        """The sum of the rates of the parts."""
        return float(sum(part.rate for part in self._terms))

    @property
    def beta(self) -> float | None:  # type: ignore[override]
        """β, if it is the same for all heads."""
        values = {head.beta for head in self.heads}
        return values.pop() if len(values) == 1 else None

    @cached_property
    def generator(self) -> Array | None:  # type: ignore[override]
        """The sum of the value matrices, if all forces on a single token are linear."""
        matrices = [part.generator for part in self._terms]
        if self.depth is not None:
            return None
        if not matrices or any(matrix is None for matrix in matrices):
            return None
        if len(matrices) == 1:
            return matrices[0]
        total: Array = np.sum(np.array(matrices), axis=0)
        return total

    @property
    def product(self) -> Array | None:  # type: ignore[override]
        """KᵀQ, if there is one head and its weights depend on nothing else."""
        alone = len(self.heads) == 1 and self.position is None and self.attention == "softmax"
        alone = alone and not self._biased and self.depth is None
        return self.heads[0].product if alone else None

    @property
    def product_error(self) -> float:  # type: ignore[override]
        """The rounding error of `product`."""
        return self.heads[0].product_error if len(self.heads) == 1 else 0.0

    @property
    def scores(self) -> tuple[Scores, ...]:  # type: ignore[override]
        """What heads without biases compute scores with, if their weights are the softmax."""
        if self.attention != "softmax" or self._biased or self.depth is not None:
            return ()
        turns = [
            np.empty(0) if self.position is None else self.position.frequencies(len(head.Q))
            for head in self.heads
        ]
        return tuple(
            Scores(head.beta * head.Q, head.K, turn, float(slope))
            for head, turn, slope in zip(self.heads, turns, self._slopes, strict=True)
        )

    @property
    def label(self) -> str:
        """A short description of all parts, for captions."""
        words = [head.label for head in self.heads]
        if len(words) > 1:
            words = [f"{len(words)} heads"]
        words += [part.label for part in self._terms[len(self.heads) :]]
        words += [f"{self.norm}-norm"] if self.norm.name != "post" else []
        words += [self.position.label] if self.position else []
        words += [f"{self.attention} attention"] if self.attention != "softmax" else []
        if self.depth:
            words.append(f"resampled every {self.depth.every:g}")
        words += [self.noise.label] if self.noise else []
        return ", ".join([*words, f"{self.mask} mask"])


def _shown(choice: str | Norm | Position | Noise | Resampled) -> str:
    """A choice for `repr`: 'pre', Mix(tau=5.0), Rope(base=100.0)."""
    name = getattr(choice, "name", None)
    return repr(name) if name is not None and norms.NORMS[name] == choice else repr(choice)
