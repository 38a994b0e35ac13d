"""`Attention`: the model of the paper, one head under a mask."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from parkade.base.types import Array
from parkade.model.model import from_dict
from parkade.model.parts.head import Head
from parkade.model.parts.mask import Mask
from parkade.model.parts.noise import Noise
from parkade.model.transformer import Transformer


class Attention(Transformer, kind="attention"):
    """Self-attention as a flow of tokens on the sphere S^{d-1}.

    Token k moves by ::

        dx_k/dt = P_{x_k} [ (1/Z_k) Σ_{j∈N(k)} exp(β⟨Q x_k, K x_j⟩) V x_j ],
        Z_k     = Σ_{j∈N(k)} exp(β⟨Q x_k, K x_j⟩),       P_x y = y − ⟨x,y⟩ x,

    where N(k) = {j ≤ k} under the causal mask and all tokens under the full one
    (Karagodin, Polyanskiy, Rigollet 2024, equations CSA and SA).

    Parameters
    ----------
    d : int, optional
        Dimension; can be omitted if Q, K or V is an array.
    beta : float
        Inverse temperature β ≥ 0.
    Q, K, V : float, (d,) or (d, d)
        Query, key and value matrices. A number means a multiple of the identity, a vector a
        diagonal matrix. The identity by default. To avoid overflow, each must be 0 or have its
        largest entry between 1e-50 and 1e50 in size, and β ≤ 1e50. A factor in V only changes
        the unit of time, and a factor in Q or K can be moved to β.
    mask : "causal", "full", or a Mask
    noise : Noise or float, optional
        Brownian motion of the tokens besides the forces; a number κ means `pk.Noise(κ)`.

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
        mask: str | Mask = "causal",
        noise: Noise | float | None = None,
    ) -> None:
        super().__init__([Head(Q, K, V, beta, d)], mask=mask, noise=noise)

    def __repr__(self) -> str:
        noise = "" if self.noise is None else f", noise={self.noise!r}"
        return f"Attention({', '.join(self._head.arguments())}, mask={str(self.mask)!r}{noise})"

    @property
    def _head(self) -> Head:
        return self.heads[0]

    @property
    def Q(self) -> Array:  # noqa: N802  the paper's name
        """The query matrix of the head."""
        return self._head.Q

    @property
    def K(self) -> Array:  # noqa: N802  the paper's name
        """The key matrix of the head."""
        return self._head.K

    @property
    def V(self) -> Array:  # noqa: N802  the paper's name
        """The value matrix of the head."""
        return self._head.V

    @property
    def beta(self) -> float:  # type: ignore[override]
        """The inverse temperature of attention."""
        return self._head.beta

    @property
    def product(self) -> Array:  # type: ignore[override]
        """The matrix KᵀQ of the scores."""
        return self._head.product

    @property
    def generator(self) -> Array:  # type: ignore[override]
        """The value matrix: a single token moves by dx/dt = P_x(Vx)."""
        return self._head.V

    def data(self) -> dict[str, Any]:
        """The arguments of the model, for files."""
        noise = {} if self.noise is None else {"noise": self.noise}
        return {"d": self.d, **self._head.data(), "mask": str(self.mask), **noise}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Any:
        """The model of these arguments."""
        return cls(**data | {"noise": from_dict(data["noise"])} if "noise" in data else data)
