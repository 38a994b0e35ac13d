"""Linear systems in the causal Jacobian, by forward substitution over the tokens."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parkade.base.types import Array
from parkade.engine.compile.jit import SUMS, njit
from parkade.engine.jacobian.linearization import Linearization
from parkade.engine.jacobian.small_matrices import apply
from parkade.engine.jacobian.tangent import from_tangent, to_tangent
from parkade.engine.system import System
from parkade.engine.vectors import scalar


class Equations(NamedTuple):
    """The system (diagonal − J) u = right, with its diagonal blocks inverted."""

    lin: Linearization  # where J comes from
    inverses: Array  # (n, d-1, padded d-1): of diagonal − J_kk, as `small_matrices.invert` has them
    right: Array  # (n, d): tangent vectors
    u: Array  # (d, padded n): the solution; must hold finite numbers before


@njit(fastmath=SUMS)
def _along(query: Array, u: Array, weights: Array, out: Array) -> float:
    """Set out_j = p_kj ⟨a_k, u_j⟩, and return the sum; few passes over `out` if d is large."""
    d = query.size
    first = d % 4
    for j in range(out.size):
        out[j] = 0.0
    for c in range(first):
        a, row = query[c], u[c]
        for j in range(out.size):
            out[j] += a * row[j]
    for c in range(first, d, 4):
        a0, a1, a2, a3 = query[c], query[c + 1], query[c + 2], query[c + 3]
        r0, r1, r2, r3 = u[c], u[c + 1], u[c + 2], u[c + 3]
        for j in range(out.size):
            out[j] += a0 * r0[j] + a1 * r1[j] + (a2 * r2[j] + a3 * r3[j])
    total = 0.0
    for j in range(out.size):
        out[j] *= weights[j]
        total += out[j]
    return total


@njit(fastmath=SUMS)
def _push(keys: Array, u: Array, weights: Array, along: Array, k: int, c: int, out: Array) -> None:
    """Add Σ_j p_kj u_j + Σ_j along_j (x_j − x_k) to `out`, in coordinate c."""
    row, key, own = u[c], keys[c], keys[c, k]
    total = 0.0
    for j in range(weights.size):
        total += weights[j] * row[j] + along[j] * (key[j] - own)
    out[c] += total


@njit(fastmath=SUMS)
def _push_two(
    keys: Array, u: Array, weights: Array, along: Array, k: int, c: int, out: Array
) -> None:
    """`_push` in coordinates c and c + 1, which share half of the loads."""
    row, key, own = u[c], keys[c], keys[c, k]
    row2, key2, own2 = u[c + 1], keys[c + 1], keys[c + 1, k]
    total, total2 = 0.0, 0.0
    for j in range(weights.size):
        total += weights[j] * row[j] + along[j] * (key[j] - own)
        total2 += weights[j] * row2[j] + along[j] * (key2[j] - own2)
    out[c] += total
    out[c + 1] += total2


@njit(allocates=True)
def finish_room(d: int, inverses: Array) -> tuple[Array, Array, Array, Array]:
    """Working arrays for `finish`."""
    return np.empty(d), np.empty(d), np.empty(d - 1), np.empty(inverses.shape[2])


@njit(fastmath=SUMS, inline="always")
def finish(
    V: Array,
    v_scalar: float,
    equations: Equations,
    k: int,
    pushed: Array,
    room: tuple[Array, Array, Array, Array],
) -> None:
    """Solve for u_k, with the part Σ_j p_kj [u_j + (δ_j − μ_k) ⟨a_k, u_j⟩] of tokens before it."""
    lin, inverses, right, u = equations
    d = right.shape[1]
    x, v, z, solution = room
    for c in range(d):
        x[c] = lin.keys[c, k]
        value = right[k, c] + v_scalar * pushed[c]
        if v_scalar == 0.0:
            for e in range(d):
                value += V[c, e] * pushed[e]
        v[c] = value
    if d == 2:  # the tangent space is a line
        step = inverses[k, 0, 0] * (x[0] * v[1] - x[1] * v[0])
        v[0], v[1] = -step * x[1], step * x[0]
    else:
        to_tangent(x, lin.axes[k], v, z)
        apply(inverses[k], z, solution)
        from_tangent(x, lin.axes[k], solution, v)
    for c in range(d):
        u[c, k] = v[c]


@njit(allocates=True)
def solve(system: System, equations: Equations) -> None:
    """Solve for the tokens one after the other, by sums over the stored weights."""
    d = equations.right.shape[1]
    along, pushed = np.empty(equations.lin.keys.shape[1]), np.empty(d)
    _substitute(system, equations, along, pushed, finish_room(d, equations.inverses))


@njit(fastmath=SUMS)
def _substitute(
    system: System,
    equations: Equations,
    along: Array,
    pushed: Array,
    room: tuple[Array, Array, Array, Array],
) -> None:
    lin, _, right, u = equations
    n, d = right.shape
    v_scalar = scalar(system.value)
    for k in range(n):
        weights = lin.weights[lin.offsets[k] : lin.offsets[k + 1]]
        count = weights.size
        # Σ_j p_kj [u_j + (δ_j − μ_k) ⟨a_k, u_j⟩]
        total = _along(lin.queries[k], u, weights, along[:count])
        for c in range(d):
            pushed[c] = -total * lin.mean[k, c]
        for c in range(0, d - 1, 2):
            _push_two(lin.keys, u, weights, along[:count], k, c, pushed)
        if d % 2 == 1:
            _push(lin.keys, u, weights, along[:count], k, d - 1, pushed)
        finish(system.value, v_scalar, equations, k, pushed, room)
