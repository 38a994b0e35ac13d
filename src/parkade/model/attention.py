"""`Attention`: the one definition of the model, and its velocity written naively."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array, Mask


class Attention:
    """Self-attention as a flow of tokens on the sphere S^{d-1}.

    Token k moves by

        dx_k/dt = P_{x_k} [ (1/Z_k) Σ_{j∈N(k)} exp(β⟨Q x_k, K x_j⟩) V x_j ],
        Z_k     = Σ_{j∈N(k)} exp(β⟨Q x_k, K x_j⟩),       P_x y = y − ⟨x,y⟩ x,

    where N(k) = {j ≤ k} under the causal mask and all tokens under the full one
    (Karagodin, Polyanskiy, Rigollet 2024, equations CSA and SA).

    Parameters
    ----------
    d : int, optional
        Dimension; may be left out if Q, K or V has it.
    beta : float
        Inverse temperature β ≥ 0.
    Q, K, V : float, (d,) or (d, d)
        Query, key and value matrices: a number stands for a multiple of the identity, a
        vector for a diagonal matrix. The identity by default. Each is 0 or has its largest
        entry between 1e-50 and 1e50 in size, and β ≤ 1e50, so that nothing overflows: a factor
        in V is a unit of time, and one in Q or K belongs to β.
    mask : "causal" or "full"

    Examples
    --------
    >>> import parkade as pk
    >>> pk.Attention(d=2, beta=64.0)
    Attention(d=2, beta=64, mask='causal')
    >>> pk.Attention(V=[1, 1, -1], beta=9).V.diagonal().tolist()
    [1.0, 1.0, -1.0]
    """

    def __init__(
        self,
        d: int | None = None,
        beta: float = 1.0,
        *,
        Q: ArrayLike = 1.0,
        K: ArrayLike = 1.0,
        V: ArrayLike = 1.0,
        mask: Mask = "causal",
    ) -> None:
        given = {"Q": check.array("Q", Q), "K": check.array("K", K), "V": check.array("V", V)}
        if d is None:
            d = next((len(m) for m in given.values() if m.ndim), None)
            if d is None:
                raise InputError("give d: it cannot be told when Q, K and V are numbers")
        self.d: int = check.dimension(d)
        self.Q: Array = check.matrix("Q", given["Q"], self.d)
        self.K: Array = check.matrix("K", given["K"], self.d)
        self.V: Array = check.matrix("V", given["V"], self.d)
        self.beta: float = check.beta(beta)
        self.mask: Mask = check.choice("mask", mask, ("causal", "full"))
        for m in (self.Q, self.K, self.V):
            m.flags.writeable = False

    def __repr__(self) -> str:
        identity = np.eye(self.d)
        parts = [f"d={self.d}", f"beta={self.beta:g}"]
        for name in "QKV":
            m: Array = getattr(self, name)
            if not np.array_equal(m, identity):
                diagonal = np.diagonal(m)
                same = np.array_equal(m, np.diag(diagonal))
                entries = ", ".join(f"{v:g}" for v in diagonal)
                short = same and self.d <= 8
                parts.append(f"{name}=[{entries}]" if short else f"{name}=<{self.d}×{self.d}>")
        return f"Attention({', '.join(parts)}, mask={self.mask!r})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Attention)
            and self.beta == other.beta
            and self.mask == other.mask
            and all(np.array_equal(getattr(self, m), getattr(other, m)) for m in "QKV")
        )

    __hash__ = None  # type: ignore[assignment]  # mutable-looking arrays: not a dict key

    def velocity(self, tokens: Any, frozen: Any = None, frozen_weights: Any = None) -> Any:
        """dx/dt at `tokens`, straight from the definition.

        Written against the array API standard, so NumPy, PyTorch and JAX arrays work and can
        be differentiated. It stores n×n weights; `parkade.simulate` does not use it, its
        fast kernels are tested against it.

        Parameters
        ----------
        tokens : (..., n, d) array
            Unit vectors; leading axes are independent systems.
        frozen : (m, d) array, optional
            Fixed tokens that everybody attends to (Theorem 5.2).
        frozen_weights : (m,) array, optional
            Weight of each frozen token in the sums; 1 by default.

        Examples
        --------
        >>> import parkade as pk
        >>> pk.Attention(d=2).velocity(pk.sphere.from_angles([0.0, 0.5])).round(3).tolist()
        [[0.0, 0.0], [0.108, -0.198]]
        """
        from array_api_compat import array_namespace, device

        xp = array_namespace(tokens)

        def like(m: Any) -> Any:
            return xp.asarray(m, dtype=tokens.dtype, device=device(tokens), copy=True)

        n = tokens.shape[-2]
        keys = tokens
        if frozen is not None:
            shape = (*tokens.shape[:-2], *frozen.shape)
            keys = xp.concat([tokens, xp.broadcast_to(like(frozen), shape)], axis=-2)
        q, k, v = tokens @ like(self.Q.T), keys @ like(self.K.T), keys @ like(self.V.T)
        offsets = np.zeros((n, keys.shape[-2]))  # log weights; -inf where a key is hidden
        if frozen_weights is not None:
            offsets[:, n:] = np.log(frozen_weights)
        if self.mask == "causal":
            offsets[:, :n][np.triu_indices(n, 1)] = -np.inf
        scores = self.beta * (q @ xp.matrix_transpose(k)) + like(offsets)  # (..., n, n + m)
        weights = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
        pull = (weights @ v) / xp.sum(weights, axis=-1, keepdims=True)
        return pull - xp.sum(tokens * pull, axis=-1, keepdims=True) * tokens
