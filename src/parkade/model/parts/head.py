"""`Head`: one attention head."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from parkade.base import check
from parkade.base.constants import EPSILON
from parkade.base.errors import InputError
from parkade.base.types import Array, Seed
from parkade.model import matrices
from parkade.model.arrays import bias, like
from parkade.model.part import Part, Surroundings
from parkade.model.parts import weights
from parkade.model.parts.position import distances, turned

_SIDES = ("Q", -1), ("K", -1), ("V", 0)  # where matrices have the length d


class Head(Part, kind="head"):
    """One attention head: F_k = (1/Z_k) Σ_{j∈N(k)} exp(β⟨Q x_k + bq, K x_j + bk⟩) V x_j.

    A `Transformer` may give tokens positions, or use other weights than the softmax.

    Parameters
    ----------
    Q, K, V : float, (d,) or (d, d)
        Query, key and value matrices. A number means a multiple of the identity, a vector a
        diagonal matrix. The identity by default. Q and K may also both be (m, d) matrices.
    beta : float
        Inverse temperature β ≥ 0.
    d : int, optional
        Dimension; can be omitted if Q, K or V is an array.
    bq, bk : (m,) array, optional
        Biases of the m components of queries and of keys; none by default. Heads with biases have
        no compiled kernels. Without positions, `bk` adds the same to all scores of a token.

    Examples
    --------
    >>> import parkade as pk
    >>> pk.Head(V=[1, 1, -1], beta=9.0).label
    'β = 9, V = diag(1, 1, −1)'
    """

    def __init__(
        self,
        Q: ArrayLike = 1.0,
        K: ArrayLike = 1.0,
        V: ArrayLike = 1.0,
        beta: float = 1.0,
        d: int | None = None,
        *,
        bq: ArrayLike | None = None,
        bk: ArrayLike | None = None,
    ) -> None:
        arrays = {"Q": check.array("Q", Q), "K": check.array("K", K), "V": check.array("V", V)}
        if d is None:
            sizes = [arrays[name].shape[side] for name, side in _SIDES if arrays[name].ndim]
            d = sizes[0] if sizes else None
            if d is None:
                raise InputError("d cannot be inferred if Q, K and V are numbers; give d")
        self.d: int = check.dimension(d)
        self.Q: Array = check.matrix("Q", arrays["Q"], self.d, low_rank=True)
        self.K: Array = check.matrix("K", arrays["K"], self.d, low_rank=True)
        if len(self.Q) != len(self.K):
            raise InputError(
                f"Q and K must have the same number of rows, got {len(self.Q)} and {len(self.K)}"
            )
        self.V: Array = check.matrix("V", arrays["V"], self.d)
        self.beta: float = check.beta(beta)
        self.bq: Array = bias("bq", bq, len(self.Q))
        self.bk: Array = bias("bk", bk, len(self.K))
        for array in (self.Q, self.K, self.V, self.bq, self.bk):
            array.flags.writeable = False
        self.biased: bool = bool(self._biases())

    @classmethod
    def random(
        cls,
        d: int,
        d_head: int | None = None,
        seed: Any = None,
        beta: float = 1.0,
        size: float = 1.0,
    ) -> Head:
        """A head with Gaussian matrices: Q and K are (d_head, d), and V has rank d_head.

        Scores of unit vectors have standard deviation β, and |Vx| is about `size`.

        Examples
        --------
        >>> import parkade as pk
        >>> pk.Head.random(8, 2, seed=1).Q.shape
        (2, 8)
        """
        rng = check.generator(seed)
        d = check.dimension(d)
        m = d if d_head is None else check.positive_int("d_head", d_head)
        Q, K = rng.standard_normal((2, m, d)) / m**0.25
        V = rng.standard_normal((d, m)) @ rng.standard_normal((m, d)) * (size / (m * d) ** 0.5)
        return cls(Q, K, V, beta)

    def __repr__(self) -> str:
        return f"Head({', '.join(self.arguments())})"

    def arguments(self) -> list[str]:
        """The dimension, β, the matrices other than I and the biases, as `repr` shows them."""
        shown = [f"{name}={matrices.brief(m)}" for name, m in self._special_matrices().items()]
        shown += [f"{name}=<{len(b)}>" for name, b in self._biases().items()]
        return [f"d={self.d}", f"beta={self.beta:g}", *shown]

    @property
    def label(self) -> str:
        """β and the matrices other than I, or that there are biases."""
        if self.biased:
            return f"head with biases, β = {self.beta:.3g}"
        shown = [f"{name} = {matrices.words(m)}" for name, m in self._special_matrices().items()]
        return ", ".join([f"β = {matrices.number(self.beta)}", *shown])

    def _special_matrices(self) -> dict[str, Array]:
        """Those of Q, K and V that are not the identity."""
        every = {"Q": self.Q, "K": self.K, "V": self.V}
        return {name: m for name, m in every.items() if not matrices.is_identity(m)}

    def _biases(self) -> dict[str, Array]:
        """Those of bq and bk that are not zero."""
        return {name: b for name, b in (("bq", self.bq), ("bk", self.bk)) if b.any()}

    @cached_property
    def product(self) -> Array:
        """The matrix KᵀQ of the scores."""
        product: Array = self.K.T @ self.Q
        return product

    @cached_property
    def product_error(self) -> float:
        """The rounding error of KᵀQ from the size of its factors, since terms may cancel."""
        return 2 * self.d * EPSILON * float(np.linalg.norm(self.Q) * np.linalg.norm(self.K))

    @cached_property
    def _score_size(self) -> float:
        biases = np.linalg.norm(self.K.T @ self.bq) + np.linalg.norm(self.Q.T @ self.bk)
        return float(np.linalg.norm(self.product, 2) + biases)

    @property
    def sharpness(self) -> float:  # type: ignore[override]
        """β(‖KᵀQ‖ + |Kᵀbq| + |Qᵀbk|), with the spectral norm."""
        return self.beta * self._score_size

    def with_beta(self, beta: float) -> Head:
        """The head with another β; both share their matrices and what follows from them."""
        _ = self._score_size, self.rate, self.product_error  # computed before, once for all
        other = copy.copy(self)
        other.beta = check.beta(beta)
        return other

    @cached_property
    def rate(self) -> float:  # type: ignore[override]
        """The spectral norm of V."""
        return float(np.linalg.norm(self.V, 2))

    @property
    def generator(self) -> Array:  # type: ignore[override]
        """The matrix V: the force on a single token is Vx."""
        return self.V

    def force(self, tokens: Any, around: Surroundings) -> Any:
        """The weighted mean of the values, (..., n, d)."""
        from array_api_compat import array_namespace

        xp = array_namespace(tokens)
        n = tokens.shape[-2]
        keys = tokens
        if around.frozen is not None:
            fixed = like(around.frozen, tokens)
            shape = (*tokens.shape[:-2], *fixed.shape)
            keys = xp.concat([tokens, xp.broadcast_to(fixed, shape)], axis=-2)
        q, k, v = (
            rows @ like(matrix.T, tokens)
            for rows, matrix in ((tokens, self.Q), (keys, self.K), (keys, self.V))
        )
        if self.biased:
            q, k = q + like(self.bq, tokens), k + like(self.bk, tokens)
        if around.position is not None:
            q, k = (turned(rows, around.position.frequencies(len(self.Q))) for rows in (q, k))
        seen = np.ones((n, keys.shape[-2]))  # how often a key counts
        seen[:, :n] = around.mask.sees(n)
        if around.frozen_weights is not None:
            seen[:, n:] = around.frozen_weights
        offsets = weights.offsets(seen)
        if around.slope:
            offsets[:, :n] -= around.slope * distances(n)
        scores = self.beta * (q @ xp.matrix_transpose(k)) + like(offsets, tokens)  # (..., n, n + m)
        return weights.KINDS[around.attention](xp, scores, like(seen, tokens)) @ v

    def data(self) -> dict[str, Any]:
        """The matrices, β, and biases that are not zero."""
        return {"Q": self.Q, "K": self.K, "V": self.V, "beta": self.beta, **self._biases()}


def read_heads(
    heads: Any, d: int | None, d_head: int | None, beta: float | None, seed: Seed
) -> tuple[Head, ...]:
    """The heads of a transformer from its arguments: a list, or a number of random ones."""
    if isinstance(heads, (int, np.integer)) and not isinstance(heads, bool):
        count = check.positive_int("heads", heads)
        if d is None:
            raise InputError(f"heads={count} are random heads of any dimension; give d")
        rng = check.generator(seed)
        size, sharp = count**-0.5, 1.0 if beta is None else beta
        return tuple(Head.random(d, d_head, rng, sharp, size) for _ in range(count))
    for name, value in {"d_head": d_head, "beta": beta, "seed": seed}.items():
        if value is not None:
            raise InputError(f"{name} is for random heads, as in pk.Transformer(4, d=8, {name}=…)")
    if not isinstance(heads, Sequence):
        raise InputError(f"heads must be a list of heads or a number, got {check.brief(heads)}")
    return tuple(heads)
