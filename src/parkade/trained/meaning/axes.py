"""The axes of a head: what its value matrix writes and reads.

V_h = W_O W_V diag(gain) has a right eigenvector ξ, which the head writes, and a left one η, which
it reads: V_h x has the component λ⟨η, x⟩/⟨η, ξ⟩ along ξ. By Table 1 of arXiv:2411.04990, +ξ and −ξ
are the two points where tokens of the head alone would end. A complex leading pair has a plane.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.trained import flows

if TYPE_CHECKING:
    from parkade.trained.model import Trained

ALL = -1
"""The number of a head that stands for the sum of all heads of its layer."""

_REAL = 1e-9  # imaginary parts below this, relative to the eigenvalue, are zero


@dataclass(frozen=True, eq=False)
class HeadAxes:
    """The axes of one head, as orthonormal bases (1, d) of lines and (2, d) of planes.

    Attributes
    ----------
    spectrum : (m,) complex array
        The eigenvalues of V on its range, those with the largest real part first.
    writes, reads : (p, d) arrays
        Of the first eigenvalue: the right and the left eigenvector, or their planes.
    negative : (p, d) array
        What the head writes for the eigenvalue with the smallest real part.
    singular_writes, singular_reads : (1, d) arrays
        The first singular pair of V.
    overlap : float
        Cosine of what it writes and reads; of planes, the largest one.
    """

    spectrum: NDArray[np.complex128]
    writes: Array
    reads: Array
    negative: Array
    singular_writes: Array
    singular_reads: Array
    overlap: float


def matrices(model: Trained, layer: int, head: int) -> tuple[Array, Array]:
    """V and O of a head, (m, d) and (d, m), with the gain; of all heads side by side for `ALL`."""
    layer = model.number(layer)
    _, _, V, out = flows.head_matrices(model, layer)
    if head == ALL:
        return V.reshape(-1, model.d), out.transpose(1, 0, 2).reshape(model.d, -1)
    h = head_number(model, head)
    return V[h], out[h]


def head_number(model: Trained, head: int) -> int:
    """The number of a head, checked."""
    whole = isinstance(head, (int, np.integer)) and not isinstance(head, bool)
    if not whole or not 0 <= head < model.head_count:
        raise InputError(
            f"head must be a whole number from 0 to {model.head_count - 1}, got {check.brief(head)}"
        )
    return int(head)


def axes_of(V: Array, out: Array) -> HeadAxes:
    """The axes of the matrix out V, from V (m, d) and out (d, m)."""
    from scipy.linalg import eig

    solved: Any = eig(V @ out, left=True, right=True)
    order = np.lexsort((-solved[0].imag, -solved[0].real))
    values, left, right = (part[..., order] for part in solved)
    last = int(np.argmin(values.real))
    writes = line_or_plane(out @ right[:, 0], values[0])
    reads = line_or_plane(V.T @ left[:, 0].conj(), values[0])
    if len(writes) == 1 and np.sum(writes * reads) < 0:
        reads = -reads
    head, tail = np.linalg.qr(out), np.linalg.qr(V.T)
    u, _, vt = np.linalg.svd(head.R @ tail.R.T)
    first, second = head.Q @ u[:, 0], tail.Q @ vt[0]
    return HeadAxes(
        spectrum=values.astype(np.complex128),
        writes=writes,
        reads=reads,
        negative=line_or_plane(out @ right[:, last], values[last]),
        singular_writes=first[None],
        singular_reads=second[None],
        overlap=float(np.linalg.norm(writes @ reads.T, 2)),
    )


def line_or_plane(vector: NDArray[np.complex128], value: complex) -> Array:
    """An orthonormal basis (p, d) of the real invariant space of an eigenvector.

    A plane is turned from its first to its second axis by a value with a positive imaginary part.
    """
    if abs(value.imag) <= _REAL * abs(value):
        # The phase of an eigenvector is arbitrary; where it is largest, make it real.
        at = int(np.argmax(np.abs(vector)))
        real: Array = (vector * np.exp(-1j * np.angle(vector[at]))).real
        return real[None] / np.linalg.norm(real)
    # V(a + ib) = (μ + iν)(a + ib) turns −b … to a: in the order a, −b by the angle of μ + iν.
    pair = np.stack([vector.real, -vector.imag if value.imag > 0 else vector.imag])
    basis = np.linalg.qr(pair.T).Q.T
    if np.linalg.det(basis @ pair.T) < 0:  # keep the sense of the turn
        basis[1] = -basis[1]
    return basis
