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
    """A case of the table, the leading eigenspace, and numbers for the sentence."""

    basis: Array
    projection: Array
    numbers: Array  # case, value, turn, dimension of L, of the eigenspace, multiplicity, gap
    turns: Array  # imaginary parts of all groups that lead


@njit(allocates=True)
def ending(V: Array) -> Ending:
    """The final configuration."""
    d = V.shape[0]
    found = spectrum(V, SNAP)
    leads, columns, dim = 0, 0, 0
    turns = np.empty(d)
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
        turns[leads] = group.value.imag
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
    numbers, listed = floats((7,)), floats((leads,))
    for i in range(leads):
        listed[i] = turns[i]
    if leads == 1 and reals == 1:
        case, lead = _of_real_leader(V, found, first), first
    else:
        lead = chosen
        case = _of_pair(lead) if leads == 2 and above == 1 else table.SEVERAL
    numbers[0], numbers[1], numbers[2] = case, lead.value.real, lead.value.imag
    numbers[3], numbers[4], numbers[5], numbers[6] = dim, lead.dim, lead.size, found.gap
    if case == table.SEVERAL and abs(first.value.real) <= first.tolerance:
        numbers[1] = 0.0
    return Ending(basis, projection, numbers, listed)


@njit()
def _of_real_leader(V: Array, found: Spectrum, lead: Group) -> int:
    distinct = found.count == V.shape[0]
    for g in range(found.count):
        distinct = distinct and found.means[g].imag == 0.0 and found.means[g].real > 0.0
    if is_zero(V):
        return table.ZERO
    value, slack = lead.value.real, lead.tolerance
    return _real_case(V.shape[0], lead.dim, lead.size, value, slack, lead.normal, distinct)


@njit()
def _of_pair(lead: Any) -> int:
    return _pair_case(lead.dim, lead.size, lead.value.real, lead.tolerance)


_real_case, _pair_case = njit()(table.real_case), njit()(table.pair_case)
