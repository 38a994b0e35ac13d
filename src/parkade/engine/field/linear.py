"""The flow of a `Field`, linearised at a state.

With the notation of `field`, γ_k = Σ_{j≠k} p_kj (κ_j − κ_k) and
C_k = Σ_{j≠k} p_kj (w_j − w_k) (κ_j − κ_k)ᵀ, changes u_j of the tokens change the force of a head by

    O Σ_{j<k} p_kj [W u_j + (w_j − w_k − ν_k) ⟨q_k, R_j K u_j⟩]
    + O {[C_k − ν_k γ_kᵀ] β R_k Q − p_kk ν_k q_kᵀ R_k K − (1 − p_kk) W} u_k,

and the MLP by G′(x_k) u_k. A change df_k of the force, and those of x_k and ln r_k themselves,
change the motion by

    d(dθ_k/dt)    = (1/s_k) (P df_k − ⟨x_k, f_k⟩ u_k) − (T_k/s_k) ds_k/s_k,
    d(d ln r_k/dt) = (1/s_k) (⟨x_k, df_k⟩ + ⟨T_k, u_k⟩) − (⟨x_k, F_k⟩/s_k) ds_k/s_k,

with T_k = P f_k, and ds_k/s_k = d ln r_k (pre, peri) + ⟨F_k, dF_k⟩/|F_k|² (peri, nGPT). All sums
are over tokens before k, so that a lone token's block keeps its relative precision.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from parkade.base import check
from parkade.base.types import Array
from parkade.engine.compile.jit import FUSED, SUMS, njit
from parkade.engine.field.field import NGPT, PERI, PRE, Field
from parkade.engine.field.mlp import activation_slopes, add_derivative
from parkade.engine.field.projections import Projections, allocate_projections, first_seen, project
from parkade.engine.field.sums import weigh
from parkade.engine.field.velocity import chunk, chunks, clock_of, forces
from parkade.engine.jacobian.linearization import padded
from parkade.engine.jacobian.tangent import axis, matrix_to_tangent, to_tangent
from parkade.engine.system import LOG2E
from parkade.engine.vectors import fast_dot, fast_sum

LN2 = 1.0 / LOG2E
"""ln 2: scores are in base 2, and times this they are natural logarithms of weights."""


class Linear(NamedTuple):
    """The linearisation of a `Field` at a state: all that the stages of a step need of it."""

    projections: Projections  # tokens, queries, keys and values
    weights: Array  # p_kj for j < k, row after row, for one head after the other
    offsets: NDArray[np.int64]  # (n + 1,): where the rows of a head begin
    own: Array  # (n, H): p_kk
    mean: Array  # (n, H r): ν_k
    force: Array  # (n, d): F_k
    factors: Array  # (n, 4): 1/s_k, ⟨x_k, F_k⟩, 1/|F_k|² or 0, and whether ln r_k moves
    shares: Array  # (2, n): the second row is the largest share of the others
    axes: NDArray[np.int64]  # (n,): of the tangent coordinates
    velocity: Array  # (n, columns)
    blocks: Array  # (n, columns - 1, columns - 1)
    keys: Array  # (H m, padded n): R_j K u_j
    values: Array  # (H r, padded n): W u_j
    time: Array  # (1,)


def allocate(field: Field, n: int, columns: int) -> Linear:
    """Arrays for the linearisation of n tokens whose states have this number of columns."""
    heads, size = len(field.slopes), columns - 1
    lengths = [k - max(0, k - field.window + 1) for k in range(n)]
    offsets = np.cumsum([0, *lengths], dtype=np.int64)
    check.fits_in_memory(
        8.0 * (heads * int(offsets[-1]) + n * columns * (3 * columns + 20)),
        f"the implicit method with {n} tokens and {heads} heads",
        "use method='explicit', which stores no weights",
    )
    return Linear(
        projections=allocate_projections(field, n),
        weights=np.zeros(heads * int(offsets[-1])),
        offsets=offsets,
        own=np.empty((n, heads)),
        mean=np.zeros((n, len(field.values))),
        force=np.empty((n, len(field.own_value))),
        factors=np.empty((n, 4)),
        shares=np.zeros((2, n)),
        axes=np.empty(n, dtype=np.int64),
        velocity=np.empty((n, columns)),
        blocks=np.empty((n, size, size)),
        keys=np.zeros((len(field.keys), padded(n))),
        values=np.zeros((len(field.values), padded(n))),
        time=np.zeros(1),
    )


class _Scratch(NamedTuple):
    """Working arrays for the linearisation of one token."""

    terms: Array  # (r or 1, n): scores of a head, which may have no values, are in the first row
    moment: Array  # (r, m)
    middle: Array  # (r, d)
    query: Array  # (m, d): β R_k Q
    key: Array  # (m, d): R_k K
    matrix: Array  # (d, d)
    vectors: Array  # (6, d)


@njit(allocates=True)
def _scratch(field: Field, n: int) -> _Scratch:
    d, heads = field.own_value.shape[0], max(1, field.slopes.size)
    m, r = field.keys.shape[0] // heads, field.values.shape[0] // heads
    return _Scratch(
        np.empty((max(1, r), n)),
        np.empty((r, m)),
        np.empty((r, d)),
        np.empty((m, d)),
        np.empty((m, d)),
        np.empty((d, d)),
        np.empty((6, d)),
    )


@njit(allocates=True, apart=True)
def linearize(field: Field, x: Array, lin: Linear) -> None:
    """Fill `lin` at the state `x`."""
    n = x.shape[0]
    for i in range(chunks(n)):
        lo, hi = chunk(n, i)
        project(field, x, lin.projections, lo, hi)
    lin.time[0] = field.now[0]
    scratch = _scratch(field, n)
    for i in range(chunks(n)):
        lo, hi = chunk(n, i)
        _set_motion(field, x, forces(field, lin.projections, lo, hi), lo, hi, lin)
    slopes = np.empty(field.inner.shape[0])
    for k in range(n):
        for c in range(field.own_value.shape[0]):
            for e in range(field.own_value.shape[0]):
                scratch.matrix[c, e] = field.own_value[c, e]
        lin.shares[1, k] = 0.0
        for h in range(field.slopes.size):
            _add_head(field, h, k, lin, scratch)
        if slopes.size > 0:
            activation_slopes(field, lin.projections.tokens[k], slopes)
            add_derivative(field, slopes, scratch.matrix)
        _set_block(field, x, k, lin, scratch)


@njit(error_model="numpy")
def _set_motion(field: Field, x: Array, force: Array, lo: int, hi: int, lin: Linear) -> None:
    """Set velocities and what depends on the force only; `force` has rows of f_k."""
    d, columns = force.shape[1], x.shape[1]
    grows = columns > d and (field.norm == PRE or field.norm == PERI)
    for k in range(lo, hi):
        f = force[k - lo]
        lin.axes[k] = axis(lin.projections.tokens[k])
        radial = 0.0
        for c in range(d):
            radial += f[c] * x[k, c]
        square = 0.0
        for c in range(d):
            tangent = f[c] - radial * x[k, c]
            lin.velocity[k, c] = tangent
            square += tangent * tangent
            lin.force[k, c] = f[c] + field.leading * x[k, c]
        radial += field.leading
        square += radial * radial
        s = clock_of(field, math.sqrt(square), x[k, d] if columns > d else 0.0)
        for c in range(d):
            lin.velocity[k, c] /= s
        if columns > d:
            lin.velocity[k, d] = radial / s if grows else 0.0
        lin.factors[k, 0] = 1.0 / s
        lin.factors[k, 1] = radial
        by_force = field.norm == PERI or field.norm == NGPT
        lin.factors[k, 2] = 1.0 / square if by_force else 0.0
        lin.factors[k, 3] = 1.0 if grows else 0.0


# Rows are taken out of whole arrays, as in `field_velocity`.


@njit(fastmath=FUSED)
def scores(keys: Array, first: int, start: int, query: Array, out: Array) -> None:
    """Set the scores of a query with keys, whose components are rows from `first` on."""
    for j in range(out.size):
        out[j] = 0.0
    for c in range(query.size):
        a, row = query[c], keys[first + c][start : start + out.size]
        for j in range(out.size):
            out[j] += a * row[j]


@njit(fastmath=SUMS)
def _spread(weights: Array, values: Array, own: float, out: Array) -> float:
    """Set out_j = p_j (v_j − own), and return the sum."""
    total = 0.0
    for j in range(weights.size):
        out[j] = weights[j] * (values[j] - own)
        total += out[j]
    return total


@njit()
def row_of(lin: Linear, h: int, k: int) -> tuple[int, int]:
    """Where the weights of token k in head h begin and end."""
    start = h * lin.offsets[lin.offsets.size - 1]
    return start + lin.offsets[k], start + lin.offsets[k + 1]


@njit()
def _turned(turns: Array, k: int, matrix: Array, scale: float, out: Array) -> None:
    """Set out = scale · R_k matrix, for one head."""
    for c in range(out.shape[0]):
        for e in range(out.shape[1]):
            out[c, e] = scale * matrix[c, e]
    for i in range(turns.size):
        cosine, sine = np.cos(k * turns[i]), np.sin(k * turns[i])
        for e in range(out.shape[1]):
            a, b = out[2 * i, e], out[2 * i + 1, e]
            out[2 * i, e], out[2 * i + 1, e] = cosine * a - sine * b, sine * a + cosine * b


@njit(error_model="numpy")
def _add_head(field: Field, h: int, k: int, lin: Linear, scratch: _Scratch) -> None:
    """Set the weights and ν_k of a head, and add what the head adds to the change by u_k."""
    projections, heads = lin.projections, field.slopes.size
    m, r = projections.keys.shape[0] // heads, projections.values.shape[0] // heads
    d, first = field.own_value.shape[0], first_seen(field, k)
    begin, end = row_of(lin, h, k)
    row = lin.weights[begin:end]
    query, mean = projections.queries[h * m : (h + 1) * m, k], lin.mean[k, h * r : (h + 1) * r]
    with_own = scratch.terms[0][: row.size + 1]
    scores(projections.keys, h * m, first, query, with_own)
    own = weigh(field, h, k, query, with_own, first)
    total = fast_sum(with_own)
    for j in range(row.size):
        row[j] = with_own[j] / (total + own)
    own, others = own / (total + own), total / (total + own)
    lin.own[k, h] = own
    lin.shares[1, k] = max(lin.shares[1, k], others)
    for c in range(r):
        values, value = projections.values[h * r + c][first:k], projections.values[h * r + c, k]
        mean[c] = _spread(row, values, value, scratch.terms[c][: row.size])
    for e in range(m):
        keys, key = projections.keys[h * m + e][first:k], projections.keys[h * m + e, k]
        gamma = fast_dot(row, keys) - others * key
        for c in range(r):
            moment = fast_dot(scratch.terms[c][: row.size], keys) - mean[c] * key
            scratch.moment[c, e] = moment - mean[c] * gamma
    _turned(field.turns[h], k, field.queries[h * m : (h + 1) * m], LN2, scratch.query)
    _turned(field.turns[h], k, field.keys[h * m : (h + 1) * m], 1.0, scratch.key)
    by_key = scratch.vectors[0]  # (R_k K)ᵀ q_k
    for e in range(d):
        by_key[e] = 0.0
        for c in range(m):
            by_key[e] += scratch.key[c, e] * query[c] * LN2
    for c in range(r):
        for e in range(d):
            change = -own * mean[c] * by_key[e] - others * field.values[h * r + c, e]
            for i in range(m):
                change += scratch.moment[c, i] * scratch.query[i, e]
            scratch.middle[c, e] = change
    for c in range(d):
        for i in range(r):
            factor = field.outputs[c, h * r + i]
            for e in range(d):
                scratch.matrix[c, e] += factor * scratch.middle[i, e]


@njit()
def _set_block(field: Field, x: Array, k: int, lin: Linear, scratch: _Scratch) -> None:
    """Set the block of token k from the change of its force by u_k, a matrix D."""
    matrix, token, block = scratch.matrix, lin.projections.tokens[k], lin.blocks[k]
    d = token.size
    inverse, radial, by_force, grows = lin.factors[k]
    along, tangent, row, w, left, z = scratch.vectors
    for e in range(d):
        tangent[e] = lin.force[k, e] - radial * token[e]  # T_k
    for e in range(d):
        total, up = field.leading * tangent[e], 0.0
        for c in range(d):
            total += lin.force[k, c] * matrix[c, e]
            up += token[c] * matrix[c, e]
        along[e] = by_force * total  # ds/s by u_k
        row[e] = inverse * (up + tangent[e] - radial * along[e])  # d(d ln r/dt) by u_k
    for c in range(d):
        for e in range(d):
            matrix[c, e] = inverse * (matrix[c, e] - tangent[c] * along[e])
    matrix_to_tangent(token, lin.axes[k], matrix, w, left, block)
    slow = inverse * (radial - field.leading)
    for i in range(d - 1):
        block[i, i] -= slow
    if block.shape[0] == d:  # with ln r
        to_tangent(token, lin.axes[k], row, z)
        to_tangent(token, lin.axes[k], tangent, w)
        for i in range(d - 1):
            block[d - 1, i] = grows * z[i]
            block[i, d - 1] = -grows * inverse * w[i]
        block[d - 1, d - 1] = -grows * inverse * radial
