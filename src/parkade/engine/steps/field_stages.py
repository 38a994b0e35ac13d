"""Linear systems in the causal Jacobian of a transformer, and the stages of an implicit step."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from parkade.base.types import Array
from parkade.engine.compile.jit import SUMS, njit
from parkade.engine.compile.simd import WIDTH
from parkade.engine.field.field import SQRT, Field
from parkade.engine.field.linear import LN2, Linear, allocate, row_of, scores
from parkade.engine.field.projections import first_seen, turn
from parkade.engine.field.velocity import whole
from parkade.engine.jacobian.linearization import padded
from parkade.engine.jacobian.small_matrices import apply, invert
from parkade.engine.jacobian.tangent import from_tangent, to_tangent
from parkade.engine.steps.chart import combine, quieten, to_chart
from parkade.engine.steps.clock import new_clock
from parkade.engine.steps.tableau import RODAS4P
from parkade.engine.steps.trust import new_watch
from parkade.engine.vectors import copy, normalize_first

_STAGES = 6
_A, _C, _GAMMA = RODAS4P.A, RODAS4P.C, RODAS4P.gamma

# The stages of the variable t, in units of the step: see `tableau.Rodas` with f = 1, J = 0.
_AGES = np.zeros(_STAGES)
for _s in range(_STAGES):
    _AGES[_s] = _GAMMA * (1.0 + _C[_s, :_s] @ _AGES[:_s])
_NODES = _A @ _AGES


class FieldWork(NamedTuple):
    """The state of a run between calls, and the arrays it works in; as `stages.ImplicitWork`."""

    clock: Array
    growth: Array  # (n,)
    place: Array  # (n, d)
    noise: Array  # (n,)
    watch: Array
    lin: Linear
    u: Array  # (stages, columns, padded n)
    y: Array  # (n, columns)
    slope: Array  # (n, columns)
    whole: Any  # None
    inverses: Array  # (n, columns - 1, padded columns - 1)
    audited: Array  # (n, d)


def workspace(field: Field, n: int, columns: int) -> FieldWork:
    """Arrays for a run of n tokens whose states have this number of columns."""
    size = columns - 1
    lin = allocate(field, n, columns)
    return FieldWork(
        clock=new_clock(),
        growth=np.zeros(n),
        place=np.zeros((n, len(field.own_value))),
        noise=np.zeros(n),
        watch=new_watch(n, len(field.own_value)),
        lin=lin,
        u=np.zeros((_STAGES, columns, padded(n))),
        y=np.empty((n, columns)),
        slope=np.empty((n, columns)),
        whole=None,
        inverses=np.empty((n, size, -(-size // WIDTH) * WIDTH)),
        audited=np.zeros((n, len(field.own_value))),
    )


@njit(fastmath=SUMS)
def _push(row: Array, eta: Array, du: Array, values: Array, center: float, total: float) -> float:
    """Σ_j p_j (W u_j) + Σ_j η_j (w_j − center), where `total` is the sum of η."""
    result = 0.0
    for j in range(row.size):
        result += row[j] * du[j] + eta[j] * values[j]
    return result - center * total


@njit(fastmath=SUMS)
def _weigh_changes(row: Array, eta: Array) -> float:
    """Set η_j = p_j times the change of a score, which comes in base 2; return the sum."""
    total = 0.0
    for j in range(row.size):
        eta[j] *= row[j] * LN2
        total += eta[j]
    return total


@njit()
def _pushed(field: Field, lin: Linear, k: int, eta: Array, pushed: Array) -> None:
    """Set the change of all Σ_j p_kj w_j by the tokens before k, (H r,)."""
    heads, first, projections = field.slopes.size, first_seen(field, k), lin.projections
    m, r = lin.keys.shape[0] // max(1, heads), lin.values.shape[0] // max(1, heads)
    for h in range(heads):
        begin, end = row_of(lin, h, k)
        row = lin.weights[begin:end]
        some = eta[: row.size]
        scores(lin.keys, h * m, first, projections.queries[h * m : (h + 1) * m, k], some)
        total = _weigh_changes(row, some)
        for i in range(h * r, (h + 1) * r):
            center = projections.values[i, k] + lin.mean[k, i]
            du, values = lin.values[i][first:k], projections.values[i][first:k]
            pushed[i] = _push(row, some, du, values, center, total)


@njit(allocates=True)
def solve(field: Field, lin: Linear, inverses: Array, right: Array, u: Array) -> None:
    """Solve (diagonal − J) u = right for the tokens one after the other."""
    d, columns = lin.force.shape[1], right.shape[1]
    eta, pushed = np.empty(right.shape[0]), np.empty(lin.values.shape[0])
    shown = np.empty(lin.keys.shape[0])
    buffers = (np.empty(d), shown, np.empty(columns - 1), np.empty(inverses.shape[2]))
    _substitute(field, lin, inverses, right, u, (eta, pushed), buffers)


@njit()
def _substitute(
    field: Field,
    lin: Linear,
    inverses: Array,
    right: Array,
    u: Array,
    sums: tuple[Array, Array],
    buffers: tuple[Array, Array, Array, Array],
) -> None:
    n, d = lin.force.shape
    eta, pushed = sums
    df, shown, z, solution = buffers
    for k in range(n):
        token = lin.projections.tokens[k]
        inverse, radial, by_force, grows = lin.factors[k]
        _pushed(field, lin, k, eta, pushed)
        along, up = 0.0, 0.0
        for c in range(d):
            total = 0.0
            for i in range(pushed.size):
                total += field.outputs[c, i] * pushed[i]
            df[c] = total
            along += lin.force[k, c] * total
            up += token[c] * total
        along *= by_force
        for c in range(d):
            tangent = lin.force[k, c] - radial * token[c]
            df[c] = right[k, c] + inverse * (df[c] - along * tangent)
        to_tangent(token, lin.axes[k], df, z[: d - 1])
        if z.size == d:
            z[d - 1] = right[k, d] + grows * inverse * (up - along * radial)
        apply(inverses[k], z, solution)
        from_tangent(token, lin.axes[k], solution[: d - 1], df)
        for c in range(d):
            u[c, k] = df[c]
        if z.size == d:
            u[d, k] = solution[d - 1]
        _times(field.keys, df, shown)
        turn(field.turns, k, shown)
        for i in range(shown.size):
            lin.keys[i, k] = shown[i]
        _times(field.values, df, pushed)
        for i in range(pushed.size):
            lin.values[i, k] = pushed[i]


@njit(fastmath=SUMS)
def _times(matrix: Array, vector: Array, out: Array) -> None:
    """Set `out` to the product of a matrix and a vector."""
    for i in range(out.size):
        row = matrix[i]
        total = 0.0
        for c in range(row.size):
            total += row[c] * vector[c]
        out[i] = total


@njit()
def _age(field: Field, lin: Linear, weight: float, slope: Array) -> None:
    """Add `weight` times the change of the velocity with time."""
    factor = -0.5 * weight / (lin.time[0] + 1.0)
    for k in range(slope.shape[0]):
        for c in range(slope.shape[1]):
            slope[k, c] += factor * lin.velocity[k, c]


@njit(allocates=True, apart=True)
def stages(field: Field, x: Array, work: FieldWork, h: float) -> None:
    """Solve the six stages of a step of size h into work.u."""
    n, d, lin = x.shape[0], field.own_value.shape[0], work.lin
    invert(lin.blocks, 1.0 / (_GAMMA * h), work.inverses)
    for s in range(_STAGES):
        if s == 0:
            copy(lin.velocity, work.slope)
        else:
            combine(_A[s, :s], 1.0, work.u, x, work.y, 0, n)
            normalize_first(work.y, d)
            field.now[0] = lin.time[0] + _NODES[s] * h
            whole(field, work.y, work.slope)
            if field.floor > 0.0:
                quieten(work.noise, work.slope, 0, n)
            to_chart(x, work.y, work.slope, d, 0, n)
            combine(_C[s, :s], 1.0 / h, work.u, work.slope, work.slope, 0, n)
        if field.norm == SQRT:
            _age(field, lin, _AGES[s] * h, work.slope)
        solve(field, lin, work.inverses, work.slope, work.u[s])
