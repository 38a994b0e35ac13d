"""`Transformer`: a model made of heads, an MLP and other parts, a mask and a normalisation."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, repeat
from typing import Any, Self

import numpy as np

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Seed
from parkade.model.assembled import Assembled
from parkade.model.model import Model, from_dict
from parkade.model.part import Part, Surroundings
from parkade.model.parts import depth as depths
from parkade.model.parts import mask as masks
from parkade.model.parts import noise as noises
from parkade.model.parts import norm as norms
from parkade.model.parts import weights
from parkade.model.parts.depth import Resampled
from parkade.model.parts.head import Head, read_heads
from parkade.model.parts.mask import Mask
from parkade.model.parts.mlp import MLP
from parkade.model.parts.noise import Noise
from parkade.model.parts.norm import Norm
from parkade.model.parts.position import Position


class Transformer(Assembled, kind="transformer"):
    """Tokens that move by the sum of the forces of heads, an MLP and other parts.

    The force on token k, and its motion, are ::

        F_k = Σ_h Σ_{j∈N(k)} p^h_kj V_h θ_j + G(θ_k),
        p^h_kj ∝ exp(β_h⟨R_k Q_h θ_k, R_j K_h θ_j⟩ + b_h(k − j)),
        dθ_k/dt = (1/s_k) P_{θ_k} F_k,      P_θ y = y − ⟨θ,y⟩ θ,

    where s_k and the length r_k of a token depend on the normalisation: see
    `parkade.model.parts.norm`.

    Parameters
    ----------
    heads : sequence of Head, or int
        The heads, whose forces add up; or the number of random ones (`Head.random`).
    mlp : MLP, optional
    norm : "post", "pre", "mix", "peri", "ngpt", "sqrt" or a Norm
        The normalisation; `pk.Mix(tau)` and `pk.NGPT(alpha)` have a parameter.
    mask : "causal", "full" or a Mask
        Which tokens a token attends to: also `pk.Window(w)` and `pk.Prefix(m)`.
    position : Rope, Alibi or None
        How heads see the places of tokens in the sequence.
    attention : "softmax", "linear", "unnormalised" or "hardmax"
        How scores become weights: e^score divided by their sum, the score, or e^score divided by
        the number of keys, or the mean over the keys with the largest score.
    parts : sequence of Part
        Additional forces.
    noise : Noise or float, optional
        Brownian motion of the tokens besides the forces; a number κ means `pk.Noise(κ)`.
    depth : Resampled, optional
        Random heads that are drawn anew again and again. By default heads stay as they are.
    d : int, optional
        Dimension; needed only if there are no heads, or random ones.
    d_head, beta, seed : optional
        The rank, the inverse temperature (1) and the seed of random heads.

    Examples
    --------
    >>> import parkade as pk
    >>> model = pk.Transformer([pk.Head(V=[1, 0, 0]), pk.Head(V=[0, 1, 1], beta=4.0)])
    >>> model.d, model.rate, model.sharpness
    (3, 2.0, 4.0)
    >>> model = pk.Transformer(4, d=8, d_head=2, seed=1, norm="pre", mlp=pk.MLP.random(8, seed=2))
    >>> model.label
    '4 heads, MLP of width 32, pre-norm, causal mask'
    """

    def __init__(
        self,
        heads: Sequence[Head] | int = (),
        *,
        mlp: MLP | None = None,
        norm: str | Norm = "post",
        mask: str | Mask = "causal",
        position: Position | None = None,
        attention: str = "softmax",
        parts: Sequence[Part] = (),
        noise: Noise | float | None = None,
        depth: Resampled | None = None,
        d: int | None = None,
        d_head: int | None = None,
        beta: float | None = None,
        seed: Seed = None,
    ) -> None:
        self.depth = depths.read(depth)
        self._recipe = heads, d_head, beta  # of random heads, to draw them again
        if self.depth is not None:
            depths.check_random(heads, seed, norm)
            seed = self.depth.generator(0)
        self.heads = read_heads(heads, d, d_head, beta, seed)
        self.noise = noises.read(noise)
        self.mlp = mlp
        self.parts = tuple(parts)
        for name, objects, wanted in (("heads", self.heads, Head), ("parts", self.parts, Part)):
            for i, one in enumerate(objects):
                if not isinstance(one, wanted):
                    raise InputError(
                        f"{name} must be a list of pk.{wanted.__name__} objects, but number {i} is "
                        f"{check.brief(one)}"
                    )
        if mlp is not None and not isinstance(mlp, MLP):
            raise InputError(f"mlp must be a pk.MLP, got {check.brief(mlp)}")
        if d is None:
            d = next((one.d for one in (*self.heads, mlp) if one is not None), None)
        if d is None:
            raise InputError("d cannot be inferred for a model without heads; give d")
        self.d = check.dimension(d)
        for i, head in enumerate(self.heads):
            if head.d != self.d:
                raise InputError(f"heads must all have d={self.d}, but number {i} has d={head.d}")
        if mlp is not None and mlp.d != self.d:
            raise InputError(f"mlp must have d={self.d} like the heads, got d={mlp.d}")
        self.mask = masks.read(mask)
        self.norm = norms.read(norm)
        self.attention = check.choice("attention", attention, tuple(weights.KINDS))
        if position is not None and not isinstance(position, Position):
            raise InputError(
                f"position must be pk.Rope(…), pk.Alibi(…) or None, got {check.brief(position)}"
            )
        self.position = position
        self._slopes = np.zeros(len(self.heads))
        if position is not None:
            self._slopes = position.slopes(len(self.heads))

    def with_beta(self, beta: float) -> Self:
        """The model with another β in all heads; both share their matrices."""
        other = copy.copy(self)
        other.heads = tuple(head.with_beta(beta) for head in self.heads)
        other._recipe = (*self._recipe[:2], beta)
        return other

    def with_noise(self, noise: Noise | float | None) -> Self:
        """The model with another noise, or without."""
        other = copy.copy(self)
        other.noise = noises.read(noise)
        return other

    def with_norm(self, norm: str | Norm) -> Self:
        """The model with another normalisation."""
        other = copy.copy(self)
        other.norm = norms.read(norm)
        return other

    def at(self, t: float) -> Transformer:
        """The model at time t, if it changes suddenly; otherwise itself."""
        if isinstance(self.norm, norms.Mix):
            return self.with_norm("pre" if self.norm.grows(t) else "post")
        if self.depth is not None:
            return self._layer(int(t // self.depth.every))
        return self

    def unfolded(self, t_end: float) -> Model:
        """The model until `t_end` as `Layers`, if its normalisation or its heads change."""
        from parkade.model.layers import Layers

        if isinstance(self.norm, norms.Mix):
            return Layers([0.0, self.norm.tau], [self.at(0.0), self.at(self.norm.tau)])
        if self.depth is not None:
            count = max(1, math.ceil(t_end / self.depth.every))
            return Layers.of(self._layer, count, self.depth.every)
        return self

    def _layer(self, number: int) -> Transformer:
        """The model with the random heads of a layer."""
        assert self.depth is not None
        other = copy.copy(self)
        count, d_head, beta = self._recipe
        other.heads = read_heads(count, self.d, d_head, beta, self.depth.generator(number))
        other.depth = None
        for name in ("rate", "generator", "leading_space"):  # cached
            other.__dict__.pop(name, None)
        return other

    def velocity(
        self,
        tokens: Any,
        frozen: Any = None,
        frozen_weights: Any = None,
        *,
        t: float = 0.0,
        radii: Any = None,
    ) -> Any:
        """dθ/dt at `tokens`, straight from the definition.

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
        radii : (..., n) array, optional
            Lengths of the tokens, if the normalisation has them; 1 by default.

        Examples
        --------
        >>> import parkade as pk
        >>> pk.Attention(d=2).velocity(pk.sphere.from_angles([0.0, 0.5])).round(3).tolist()
        [[0.0, 0.0], [0.108, -0.198]]
        """
        force = self.force(tokens, frozen, frozen_weights, t=t)
        return self._motion(tokens, force, None if radii is None else radii[..., None], t)[0]

    def force(
        self, tokens: Any, frozen: Any = None, frozen_weights: Any = None, *, t: float = 0.0
    ) -> Any:
        """F_k, (..., n, d), before it is projected and normalised; see `velocity`."""
        if self.depth is not None:
            return self.at(t).force(tokens, frozen, frozen_weights, t=t)
        if frozen is not None and self.position is not None:
            raise InputError("frozen tokens have no position; use position=None")
        around = Surroundings(self.mask, t, frozen, frozen_weights, self.attention, self.position)
        force = None
        for part, slope in zip(self._terms, chain(self._slopes, repeat(0.0)), strict=False):
            term = part.force(tokens, replace(around, slope=slope))
            force = term if force is None else force + term
        return 0 * tokens if force is None else force

    def change(
        self, state: Any, frozen: Any = None, frozen_weights: Any = None, *, t: float = 0.0
    ) -> Any:
        """d/dt of a state: tokens, and in a last column, if there is one, the ln r of each."""
        from array_api_compat import array_namespace

        xp = array_namespace(state)
        tokens, logs = state[..., : self.d], state[..., self.d :]
        force = self.force(tokens, frozen, frozen_weights, t=t)
        moved, grown = self._motion(tokens, force, xp.exp(logs) if logs.shape[-1] else None, t)
        return xp.concat([moved, grown], axis=-1) if logs.shape[-1] else moved

    def _motion(self, tokens: Any, force: Any, radii: Any, t: float) -> tuple[Any, Any]:
        """dθ/dt and d ln r/dt, (..., n, d) and (..., n, 1), by a force and lengths (..., n, 1)."""
        from array_api_compat import array_namespace

        xp = array_namespace(tokens)
        radial = xp.sum(tokens * force, axis=-1, keepdims=True)
        tangent = force - radial * tokens
        clock = self.norm.clock(xp, force, 1.0 if radii is None else radii, t)
        return tangent / clock, radial / clock if self.norm.grows(t) else 0 * radial

    def data(self) -> dict[str, Any]:
        """Heads, parts, mask and dimension; and what is not as usual."""
        others: dict[str, Any] = {"mlp": self.mlp} if self.mlp else {}
        fixed: dict[str, Any] = {
            "d": self.d,
            "heads": self.heads,
            "parts": self.parts,
            "mask": str(self.mask),
        }
        if self.depth is not None:
            count, d_head, beta = self._recipe
            fixed |= {"heads": count, "d_head": d_head, "beta": beta}
        return fixed | others | self._choices()

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Any:
        """The model with these parts."""
        several = {
            name: [from_dict(part) for part in data[name]]
            for name in ("heads", "parts")
            if not isinstance(data[name], int)  # the number of random heads
        }
        single = {
            name: from_dict(data[name])
            for name in ("mlp", "norm", "position", "noise", "depth")
            if name in data
        }
        return cls(**(data | several | single))
