"""`Transformer`: a model made of heads and other parts under one mask."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.model.head import Head
from parkade.model.mask import Mask, read
from parkade.model.model import Model, from_dict
from parkade.model.part import Part, Surroundings


class Transformer(Model, kind="transformer"):
    """Tokens that move by the sum of the forces of heads and other parts.

        dx_k/dt = P_{x_k} [ Σ_h F^h_k + Σ_p G^p_k ],      P_x y = y − ⟨x,y⟩ x.

    Parameters
    ----------
    heads : sequence of Head
    parts : sequence of Part
        Additional forces.
    mask : "causal", "full" or a Mask
        Which tokens a token attends to.
    d : int, optional
        Dimension; needed only if there are no heads.

    Examples
    --------
    >>> import parkade as pk
    >>> model = pk.Transformer([pk.Head(V=[1, 0, 0]), pk.Head(V=[0, 1, 1], beta=4.0)])
    >>> model.d, model.rate, model.sharpness
    (3, 2.0, 4.0)
    """

    def __init__(
        self,
        heads: Sequence[Head] = (),
        *,
        parts: Sequence[Part] = (),
        mask: str | Mask = "causal",
        d: int | None = None,
    ) -> None:
        self.heads: tuple[Head, ...] = tuple(heads)
        self.parts: tuple[Part, ...] = tuple(parts)
        for name, given, wanted in (("heads", self.heads, Head), ("parts", self.parts, Part)):
            for i, one in enumerate(given):
                if not isinstance(one, wanted):
                    raise InputError(
                        f"{name} must be a list of pk.{wanted.__name__} objects, but number {i} is "
                        f"{check.brief(one)}"
                    )
        if d is None and self.heads:
            d = self.heads[0].d
        if d is None:
            raise InputError("d cannot be inferred for a model without heads; give d")
        self.d = check.dimension(d)
        for i, head in enumerate(self.heads):
            if head.d != self.d:
                raise InputError(f"heads must all have d={self.d}, but number {i} has d={head.d}")
        self.mask: Mask = read(mask)

    def __repr__(self) -> str:
        inside = [f"heads={list(self.heads)!r}"]
        inside += [f"parts={list(self.parts)!r}"] if self.parts else []
        return f"{type(self).__name__}({', '.join(inside)}, mask={str(self.mask)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Transformer) and (
            (self.d, self.heads, self.parts, self.mask)
            == (other.d, other.heads, other.parts, other.mask)
        )

    __hash__ = None  # type: ignore[assignment]  # models contain arrays

    @property
    def _terms(self) -> tuple[Part, ...]:
        return (*self.heads, *self.parts)

    @property
    def triangular(self) -> bool:  # type: ignore[override]
        """Whether no token depends on a later one."""
        return self.mask.triangular and all(part.triangular for part in self._terms)

    @property
    def autonomous(self) -> bool:  # type: ignore[override]
        """Whether no part depends on the time."""
        return all(part.autonomous for part in self._terms)

    def with_beta(self, beta: float) -> Self:
        """The model with another β in all heads; both share their matrices."""
        other = copy.copy(self)
        other.heads = tuple(head.with_beta(beta) for head in self.heads)
        return other

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
        found = {head.beta for head in self.heads}
        return found.pop() if len(found) == 1 else None

    @cached_property
    def generator(self) -> Array | None:  # type: ignore[override]
        """The sum of the value matrices, if all forces on a single token are linear."""
        found = [part.generator for part in self._terms]
        if not found or any(matrix is None for matrix in found):
            return None
        if len(found) == 1:
            return found[0]
        total: Array = np.sum(np.array(found), axis=0)
        return total

    @property
    def product(self) -> Array | None:  # type: ignore[override]
        """KᵀQ, if there is one head."""
        return self.heads[0].product if len(self.heads) == 1 else None

    @property
    def product_error(self) -> float:  # type: ignore[override]
        """The rounding error of `product`."""
        return self.heads[0].product_error if len(self.heads) == 1 else 0.0

    @property
    def label(self) -> str:
        """A short description of heads, parts and mask."""
        heads = [head.label for head in self.heads]
        if len(heads) > 1:
            heads = [f"{len(heads)} heads"]
        return ", ".join([*heads, *(part.label for part in self.parts), f"{self.mask} mask"])

    def velocity(
        self, tokens: Any, frozen: Any = None, frozen_weights: Any = None, *, t: float = 0.0
    ) -> Any:
        """dx/dt at `tokens`, straight from the definition.

        It is written against the array API standard, so NumPy, PyTorch and JAX arrays work and
        can be differentiated. It stores n×n weights. If available, `parkade.simulate` uses
        faster kernels, which are tested against this method.

        Parameters
        ----------
        tokens : (..., n, d) array
            Unit vectors; leading axes are independent systems.
        frozen : (m, d) array, optional
            Fixed tokens that all tokens attend to (Theorem 5.2).
        frozen_weights : (m,) array, optional
            Weight of each frozen token in the sums; 1 by default.
        t : float
            The time.

        Examples
        --------
        >>> import parkade as pk
        >>> pk.Attention(d=2).velocity(pk.sphere.from_angles([0.0, 0.5])).round(3).tolist()
        [[0.0, 0.0], [0.108, -0.198]]
        """
        from array_api_compat import array_namespace

        xp = array_namespace(tokens)
        around = Surroundings(self.mask, t, frozen, frozen_weights)
        force = 0 * tokens
        for i, part in enumerate(self._terms):
            term = part.force(tokens, around)
            force = force + term if i else term
        return force - xp.sum(tokens * force, axis=-1, keepdims=True) * tokens

    def data(self) -> dict[str, Any]:
        """Heads, parts, mask and dimension."""
        return {"d": self.d, "heads": self.heads, "parts": self.parts, "mask": str(self.mask)}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Any:
        """The model with these parts."""
        read_parts = {name: [from_dict(part) for part in data[name]] for name in ("heads", "parts")}
        return cls(**{**data, **read_parts})
