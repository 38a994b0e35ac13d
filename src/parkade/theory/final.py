"""Where all tokens end up: the final configuration as a function of V alone."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from parkade.base import check
from parkade.base.constants import SNAP
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.model.spectrum import EigenvalueGroup, Spectrum, real_basis, spectrum
from parkade.theory import table
from parkade.theory.ranges import one_token, square
from parkade.theory.table import Kind, Status


@dataclass(frozen=True, eq=False)
class FinalConfiguration:
    """What the spectrum of V predicts for t → ∞, and how certain that is.

    Attributes
    ----------
    kind : str
        "one point", "two points", "cloud", "two clouds", "rotation", or "outside".
    eigenvalue : float or complex
        The eigenvalue with the largest real part; of a pair, that with positive imaginary part.
    dim : int
        Dimension of its eigenspace L (for a complex pair: of the real planes).
    basis : (d, dim) array
        An orthonormal basis of L.
    status : str
        "theorem", "conjecture", "observed" (in the paper's experiments), or
        "outside the table".
    gap : float
        The difference between the largest real part and the next; inf if there is no other.
    sentence : str
        The prediction and the reason for it.

    Examples
    --------
    >>> import parkade as pk
    >>> final = pk.theory.final_configuration([1, 1, -1])
    >>> final.kind, final.dim, final.status
    ('one point', 2, 'conjecture')
    """

    kind: Kind
    eigenvalue: float | complex
    dim: int
    basis: Array
    status: Status
    gap: float
    sentence: str
    projection: Array = field(repr=False)  # onto L along V's other invariant subspaces

    def limit(self, first_token: ArrayLike) -> Array:
        """The predicted limit points, given the start of the first token.

        Parameters
        ----------
        first_token : (d,) array
            A unit vector.

        Returns
        -------
        (m, d) array
            One point: the normalised projection of the first token onto L along the other
            invariant subspaces, which is the limit of Lemma 3.1; if L^⊥ is invariant under V, it
            is the orthogonal projection. Two points: ±ξ, beginning with the first token's limit.

        Examples
        --------
        >>> import parkade as pk
        >>> pk.theory.final_configuration([1, 1, -1]).limit([0.6, 0.0, 0.8]).tolist()
        [[1.0, 0.0, 0.0]]
        """
        x = one_token("first_token", first_token, len(self.basis))
        if self.kind not in ("one point", "two points"):
            raise InputError(
                f"there is no predicted limit point for a final configuration of kind "
                f"{self.kind!r}; see its sentence"
            )
        shadow = self.projection @ x
        size = float(np.linalg.norm(shadow))
        # Smaller values are rounding errors of the projection and have no direction.
        if size <= 1e-14 * float(np.linalg.norm(self.projection, 2)):
            if self.kind == "one point":
                raise InputError(
                    "first_token must have a part in the leading eigenspace, got one without; "
                    "rotate it by any small angle"
                )
            shadow, size = self.basis[:, 0], 1.0
        point = shadow / size
        return point[None] if self.kind == "one point" else np.stack([point, -point])

    def angles(self, tokens: ArrayLike) -> Array:
        """The angle between each token and the leading eigenspace L, from 0 to π/2.

        Takes unit vectors, (n, d) or (..., n, d), and returns (n,) or (..., n).

        Examples
        --------
        >>> import parkade as pk
        >>> pk.theory.final_configuration([1, 1, -1]).angles([[0.8, 0.0, 0.6]]).round(4).tolist()
        [0.6435]
        """
        shape = np.shape(tokens)
        x = check.tokens(np.reshape(tokens, (-1, shape[-1])) if len(shape) > 2 else tokens)
        inside = x @ self.basis
        outside = x - inside @ self.basis.T
        angle: Array = np.arctan2(np.linalg.norm(outside, axis=1), np.linalg.norm(inside, axis=1))
        return angle.reshape(shape[:-1])


def final_configuration(V: ArrayLike, *, tol: float = SNAP) -> FinalConfiguration:
    """The final configuration determined by the spectrum of the value matrix `V`.

    λ is the eigenvalue with the largest real part and L its eigenspace (Karagodin, Polyanskiy,
    Rigollet 2024, Lemma 3.1, Theorem 4.1 and Table 1; Q, K and β do not matter):

    ======  ============  =====================================  ===============
    λ       dim L         final configuration                    status
    ======  ============  =====================================  ===============
    > 0     d (V = λI)    one point, x_1(0)                      theorem
    > 0     2 … d−1       one point in L, by the first token     conjecture
    > 0     1             two points ±ξ                          conjecture
    < 0     2 … d         a cloud around L                       observed
    < 0     1             two clouds around ±ξ                   observed
    a ± ib                rotation in the plane of the pair      observed (a > 0)
    ======  ============  =====================================  ===============

    The paper conjectures one point if L^⊥ is invariant under V (which is weaker there).
    Otherwise the first token still converges to a point of L, by Lemma 3.1, but the paper does
    not state that the others follow: `kind` is the same, `status` is "outside the table".
    These cases have no row at all: λ = 0, a complex pair with a ≤ 0, a leading eigenvalue with
    too few eigenvectors (a Jordan block), and different leading eigenvalues with the same real
    part.

    Parameters
    ----------
    V : (d, d) or (d,) array
        The value matrix; a vector means a diagonal one.
    tol : float
        Eigenvalues count as equal if |λ_i − λ_j| ≤ tol·‖V‖·√(κ_i κ_j), with their condition
        numbers κ (1 if V is normal), at most 1e-3·‖V‖. The same bound decides which count as
        zero. Singular values of V − λI on the leading invariant subspace of dimension k count
        as zero up to k·tol·‖V‖·‖P‖, where P is the projection onto it along the others. The
        default is the tolerance that `parkade.simulate` uses in long runs.

    Returns
    -------
    FinalConfiguration

    Examples
    --------
    >>> import parkade as pk
    >>> final = pk.theory.final_configuration([1, 1, -1])
    >>> final.kind, final.dim, final.status
    ('one point', 2, 'conjecture')
    >>> print(pk.theory.final_configuration([[0, -1], [1, 0]]).sentence)  # doctest: +ELLIPSIS
    V has the leading pair 0 ± i, whose real part is zero: outside the table...
    """
    m = square("V", V)
    tol = check.positive("tol", tol)
    if tol >= 1:
        raise InputError(f"tol must be below 1, got {tol:g}; 1e-12 is the default")
    parts = spectrum(m, tol)
    lead = parts.groups
    real = [g for g in lead if abs(g.value.imag) <= g.tolerance]
    if len(lead) == 1 and real:
        return _of_real(m, parts)
    above = [g for g in lead if g not in real and g.value.imag > 0]
    value = above[0].value if above else lead[0].value
    if len(lead) == 2 and len(above) == 1:
        pair = above[0]
        case = table.pair_case(pair.dim, pair.size, value.real, pair.tolerance)
        numbers = table.Numbers(value.real, value.imag, planes=pair.dim, gap=parts.gap)
        return _result(case, numbers, value, lead)
    real_part = lead[0].value.real if abs(lead[0].value.real) > lead[0].tolerance else 0.0
    turns = tuple(g.value.imag for g in lead)
    numbers = table.Numbers(real_part, gap=parts.gap, turns=turns)
    return _result(table.SEVERAL, numbers, value, lead)


def _of_real(V: Array, parts: Spectrum) -> FinalConfiguration:
    """The final configuration of a V with one real leading eigenvalue."""
    (lead,) = parts.groups
    distinct = len(parts.means) == len(V)
    positive = distinct and bool(((parts.means.imag == 0) & (parts.means.real > 0)).all())
    value = lead.value.real
    case = table.real_case(
        len(V), lead.dim, lead.size, value, lead.tolerance, lead.normal, positive
    )
    numbers = table.Numbers(value, dim=lead.dim, size=lead.size, gap=parts.gap)
    return _result(case if V.any() else table.ZERO, numbers, value, [lead])


def _result(
    case: int, numbers: table.Numbers, value: complex, lead: list[EigenvalueGroup]
) -> FinalConfiguration:
    """The configuration of a row of the table, with the leading eigenspaces."""
    dim = sum(g.dim for g in lead)
    basis = real_basis(np.hstack([g.eigenvectors for g in lead]), dim)
    # Sums over conjugate pairs are real.
    projection: Array = np.sum([g.projection for g in lead], axis=0).real
    if len(basis) == dim:
        basis = projection = np.eye(dim)
    kind, status, _ = table.CASES[case]
    text = table.sentence(case, numbers)
    return FinalConfiguration(kind, value, dim, basis, status, numbers.gap, text, projection)
