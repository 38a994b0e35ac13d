"""The leading eigenvalues of a matrix: which count as equal, and what they span.

Rounding splits one eigenvalue of multiplicity k into k different ones: by 1e-16 in a normal
matrix, but by 1e-16^{1/k} in a Jordan block, where their eigenvectors are nearly parallel. The
condition number κ = |x||y|/|yᴴx| of an eigenvalue, with its right and left eigenvectors,
distinguishes the two. So λ_i and λ_j count as equal if |λ_i − λ_j| ≤ tol·‖V‖·√(κ_i κ_j). The
same test is then repeated with the means of the groups: means keep the precision that their
members lose.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parkade.base.types import Array

Complex = NDArray[np.complex128]

WIDEST_GROUP = 1e-3
"""Eigenvalues farther apart than this (or tol) times ‖V‖ are never equal, for any κ."""


@dataclass(frozen=True, eq=False)
class EigenvalueGroup:
    """Eigenvalues that count as one, and their invariant subspace."""

    value: complex  # their mean
    size: int  # how many: the algebraic multiplicity
    tolerance: float  # of the value
    eigenvectors: Complex  # orthonormal basis of the eigenspace: the geometric multiplicity
    projection: Complex  # onto the invariant subspace, along the other ones
    normal: bool  # whether the projection is orthogonal, so the complement is invariant
    frame: Complex  # orthonormal basis of the invariant subspace
    excess: Complex  # V − value·I in it: nilpotent up to rounding

    @property
    def dim(self) -> int:
        """Dimension of the eigenspace."""
        return int(self.eigenvectors.shape[1])


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The groups with the largest real part, or all groups, and the means of all."""

    groups: list[EigenvalueGroup]
    gap: float  # between the largest real part and the next; inf if there is none
    means: Complex


def spectrum(V: Array, tol: float, *, everything: bool = False) -> Spectrum:
    """Group the eigenvalues of V and find the subspaces of the leading ones, or of all."""
    from scipy import linalg

    norm = float(np.linalg.norm(V, 2))
    T, Z = linalg.rsf2csf(*linalg.schur(V, output="real"))
    values: Complex = T.diagonal().copy()
    unit = tol * norm
    widest = max(tol, WIDEST_GROUP) * norm
    kappa = _conditions(T, norm)
    label = equal_values(values, kappa, norm, tol)
    means, worst = _summary(values, kappa, label)

    top = int(np.argmax(means.real))
    slack = np.minimum(unit * np.sqrt(worst * worst[top]), widest)
    leads = means.real[top] - means.real <= slack
    others = means.real[~leads]
    gap = float(means.real[top] - others.max()) if others.size else math.inf
    wanted = range(len(means)) if everything else np.flatnonzero(leads)
    return Spectrum([_group(T, Z, label == i, unit) for i in wanted], gap, means)


def real_basis(vectors: Complex, dim: int) -> Array:
    """An orthonormal real basis of the `dim`-dimensional span of vectors and their conjugates."""
    u: Array = np.linalg.svd(np.hstack([vectors.real, vectors.imag]))[0][:, :dim]
    return u


def _conditions(T: Complex, norm: float) -> Array:
    """Condition numbers of the eigenvalues of a triangular matrix."""
    from scipy.linalg import solve_triangular

    d = len(T)
    kappa = np.ones(d)
    least = np.finfo(np.float64).eps * (norm or 1.0)
    for i in range(d):
        shifted = T - T[i, i] * np.eye(d)
        # Avoid division by zero for equal eigenvalues: perturb them by rounding, as LAPACK does.
        small = np.abs(shifted.diagonal()) < least
        shifted[small, small] = least
        above, below = slice(0, i), slice(i + 1, d)
        with np.errstate(over="ignore", invalid="ignore"):
            x = solve_triangular(shifted[above, above], T[above, i]) if i else np.empty(0)
            y = (
                solve_triangular(shifted[below, below], T[i, below], trans="T")
                if i + 1 < d
                else np.empty(0)
            )
            kappa[i] = math.hypot(1, np.linalg.norm(x)) * math.hypot(1, np.linalg.norm(y))
    return np.minimum(np.nan_to_num(kappa, nan=1e100), 1e100)


def equal_values(values: Complex, kappa: Array, norm: float, tol: float) -> NDArray[np.int64]:
    """For each eigenvalue, with condition number κ, the index of its group of equal ones."""
    from scipy.sparse.csgraph import connected_components

    label = np.arange(len(values))
    while True:
        means, worst = _summary(values, kappa, label)
        reach = np.minimum(tol * np.sqrt(np.outer(worst, worst)), max(tol, WIDEST_GROUP)) * norm
        equal = np.abs(means[:, None] - means[None]) <= reach
        count, joined = connected_components(equal, directed=False)
        if count == len(means):
            return label
        label = joined[label].astype(np.int64)


def _summary(values: Complex, kappa: Array, label: NDArray[np.int64]) -> tuple[Complex, Array]:
    """Mean and largest κ of each group."""
    sizes = np.bincount(label)
    means: Complex = np.zeros(len(sizes), dtype=np.complex128)
    np.add.at(means, label, values)
    worst = np.zeros(len(sizes))
    np.maximum.at(worst, label, kappa)
    return means / sizes, worst


def _group(T: Complex, Z: Complex, mine: NDArray[np.bool_], unit: float) -> EigenvalueGroup:
    """The subspaces of the eigenvalues `mine` on the diagonal of T, V = Z T Zᴴ."""
    from scipy.linalg import solve_sylvester
    from scipy.linalg.lapack import ztrsen

    T, Z = ztrsen(mine.astype(np.int32), T, Z, job="N")[:2]  # moves them to the front
    k = int(mine.sum())
    own, rest = T[:k, :k], T[k:, k:]
    value = complex(np.trace(own)) / k
    # The projection is Z [[I, X], [0, 0]] Zᴴ with own·X − X·rest = T[:k, k:].
    X = solve_sylvester(own, -rest, T[:k, k:]) if k < len(T) else np.empty((k, 0))
    tolerance = k * unit * math.hypot(1, float(np.linalg.norm(X, 2)) if X.size else 0.0)
    excess: Complex = own - value * np.eye(k)
    _, sigma, rows = np.linalg.svd(excess)
    kernel = rows[sigma <= tolerance].conj().T
    if not kernel.shape[1]:
        kernel = rows[-1:].conj().T  # there is at least one eigenvector
    frame = Z[:, :k]
    projection = frame @ np.hstack([np.eye(k), X]) @ Z.conj().T
    normal = not X.size or float(np.linalg.norm(T[:k, k:], 2)) <= k * unit
    return EigenvalueGroup(value, k, tolerance, frame @ kernel, projection, normal, frame, excess)
