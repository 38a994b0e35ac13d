"""The final configuration of a small matrix, as `theory.final` finds it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from framing import is_zero
from slots import floats
from spectra import Group, Spectrum, group_of, real_basis, spectrum

from parkade.base.constants import SNAP
from parkade.base.types import Array
from parkade.engine.jit import njit
from parkade.theory import table


class Ending(NamedTuple):
    """A row of the table, the leading eigenspace, and numbers for the sentence."""

    basis: Array
    projection: Array
    numbers: Array  # row, real and imaginary part, dimensions of L and of a group, its size, gap
    others: Array  # imaginary parts of all groups that lead


@njit(allocates=True)
def ending(V: Array) -> Ending:
    """The final configuration."""
    d = V.shape[0]
    found = spectrum(V, SNAP)
    leads, columns, dim = 0, 0, 0
    others = np.empty(d)
    vectors = np.zeros((d, d), dtype=np.complex128)
    projection = floats((d, d))
    first = chosen = group_of(found, 0, SNAP)
    reals = above = 0
    for g in range(found.count):
        if not found.leads[g]:
            continue
        group = group_of(found, g, SNAP)
        if leads == 0:
            first = chosen = group
        others[leads] = group.value.imag
        leads += 1
        dim += group.dim
        for r in range(d):
            for c in range(d):
                projection[r, c] += group.projection[r, c].real
            for c in range(group.dim):
                vectors[r, columns + c] = group.vectors[r, c]
        columns += group.dim
        if abs(group.value.imag) <= group.tolerance:
            reals += 1
        elif group.value.imag > 0.0:
            above += 1
            chosen = group if above == 1 else chosen
    basis = floats((d, dim))
    real_basis(vectors, columns, basis)
    if dim == d:
        for r in range(d):
            for c in range(d):
                basis[r, c] = projection[r, c] = 1.0 if r == c else 0.0
    numbers, listed = floats((8,)), floats((leads,))
    for i in range(leads):
        listed[i] = others[i]
    if leads == 1 and reals == 1:
        row, lead = _of_real_leader(V, found, first), first
    else:
        lead = chosen
        row = _of_pair(lead) if leads == 2 and above == 1 else table.DIFFERENT
    numbers[0], numbers[1], numbers[2] = row, lead.value.real, lead.value.imag
    numbers[3], numbers[4], numbers[5], numbers[6] = dim, lead.dim, lead.size, found.gap
    numbers[7] = 1.0 if abs(first.value.real) <= first.tolerance else 0.0
    return Ending(basis, projection, numbers, listed)


@njit()
def _of_real_leader(V: Array, found: Spectrum, lead: Group) -> int:
    distinct = found.count == V.shape[0]
    for g in range(found.count):
        distinct = distinct and found.means[g].imag == 0.0 and found.means[g].real > 0.0
    return _real_row(
        (is_zero(V), lead.normal, distinct),
        (V.shape[0], lead.dim, lead.size),
        lead.value.real,
        lead.tolerance,
    )


@njit()
def _of_pair(lead: Any) -> int:
    return _pair_row(lead.size > lead.dim, lead.value.real, lead.tolerance)


_real_row, _pair_row = njit()(table.real_row), njit()(table.pair_row)
