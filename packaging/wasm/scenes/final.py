"""The final configuration, from the spectrum of V, as in `parkade.theory.final`."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numerics.symmetric import spectral_norm
from scenes.spectrum import LeadingGroup, condition, group_of, groups, summary, triangular

from parkade.base.constants import EPSILON, SNAP
from parkade.base.types import Array
from parkade.engine.compile.jit import njit
from parkade.model.spectrum import WIDEST_GROUP
from parkade.theory import table

_ZERO, _SEVERAL = table.ZERO, table.SEVERAL

# Functions of the library, compiled here.
_real_case, _pair_case = njit()(table.real_case), njit()(table.pair_case)


class FinalNumbers(NamedTuple):
    """The numbers and vectors of a final configuration."""

    numbers: Array  # (8,): see `final`
    basis: Array  # (d, d): the first columns span the leading eigenspace L
    projection: Array  # (d, d): onto L
    turns: Array  # (d,): imaginary parts of the leading eigenvalues


@njit()
def _add(vector: Array, basis: Array, count: int) -> int:
    """Add the part of a vector outside a basis to it, unless it is rounding; return its size."""
    d = vector.size
    before = 0.0
    for r in range(d):
        before += vector[r] ** 2
    for _ in range(2):  # twice, because of rounding errors
        for c in range(count):
            product = 0.0
            for r in range(d):
                product += basis[r, c] * vector[r]
            for r in range(d):
                vector[r] -= product * basis[r, c]
    after = 0.0
    for r in range(d):
        after += vector[r] ** 2
    if count >= d or not after > 1e-8 * max(before, 1e-8):
        return count
    for r in range(d):
        basis[r, count] = vector[r] / math.sqrt(after)
    return count + 1


@njit(allocates=True)
def final(V: Array, out: FinalNumbers) -> None:
    """Set `out` to the final configuration of V.

    Its numbers are the case (see `parkade.theory.table`), the real and imaginary part of the
    eigenvalue, the gap to the next, the dimension of L, the multiplicity, the dimension of the
    eigenspace of one eigenvalue, and the number of leading eigenvalues.
    """
    d = V.shape[0]
    norm = spectral_norm(V)
    form = triangular(V)
    kappa, label = np.empty(d), np.empty(d, dtype=np.int64)
    for i in range(d):
        kappa[i] = condition(form.T, i, EPSILON * (norm if norm > 0.0 else 1.0))
    count = groups(form.T, kappa, norm, label)
    top, highest, wide = 0, -np.inf, 0.0
    positive = count == d
    for i in range(count):
        mean, worst, _ = summary(form.T, kappa, label, i)
        positive = positive and mean.imag == 0.0 and mean.real > 0.0
        if mean.real > highest:
            top, highest, wide = i, mean.real, worst
    below, leads, turning, rests = -np.inf, 0, 0, 0
    numbers, basis, projection, turns = out
    for r in range(d):
        for c in range(d):
            basis[r, c] = projection[r, c] = 0.0
    vectors, vector = np.zeros((d, d), dtype=np.complex128), np.empty(d)
    first = last = LeadingGroup(0.0j, 0, 0.0, 0, False)
    dim = span = 0
    for i in range(count):
        mean, worst, _ = summary(form.T, kappa, label, i)
        slack = min(SNAP * math.sqrt(worst * wide), WIDEST_GROUP) * norm
        if i != top and highest - mean.real > slack:
            below = max(below, mean.real)
            continue
        group = group_of(form, label, i, SNAP * norm, vectors, projection)
        if leads == 0:
            first = group
        if abs(group.value.imag) <= group.tolerance:
            rests += 1
        elif group.value.imag > 0.0:
            turning += 1
            if turning == 1:
                last = group
        turns[leads] = group.value.imag
        leads += 1
        dim += group.dim
        for c in range(2 * group.dim):
            for r in range(d):
                entry = vectors[r, c // 2]
                vector[r] = entry.real if c % 2 == 0 else entry.imag
            span = _add(vector, basis, span)
    if dim == d:
        for r in range(d):
            for c in range(d):
                basis[r, c] = projection[r, c] = 1.0 if r == c else 0.0
    chosen = last if turning > 0 else first
    value, tolerance = chosen.value, chosen.tolerance
    case, real = _SEVERAL, first.value.real if abs(first.value.real) > first.tolerance else 0.0
    if leads == 1 and rests == 1:
        case, real = _ZERO, value.real
        if norm > 0.0:
            case = _real_case(d, chosen.dim, chosen.size, real, tolerance, chosen.normal, positive)
    elif leads == 2 and turning == 1:
        case, real = _pair_case(chosen.dim, chosen.size, value.real, tolerance), value.real
    numbers[0], numbers[1], numbers[2], numbers[3] = case, real, value.imag, highest - below
    numbers[4], numbers[5], numbers[6], numbers[7] = dim, chosen.size, chosen.dim, leads
