"""Attention sums on the circle in linear time: powers of x + iy.

For tokens at angles φ_j and Δ = φ_j − φ_k the weights are a Fourier series,

    w_kj = exp(β(cos Δ − 1)) = c_0 + 2 Σ_m c_m cos mΔ,     c_m = e^{-β} I_m(β)

(M. Abramowitz, I. A. Stegun, Handbook of Mathematical Functions, 1964, eq. 9.6.34), whose terms
factorise: with z = x + iy, Σ_j cos mΔ = Re conj(z_k^m) S_m, where S_m = Σ_j z_j^m is the same for
all k, or under the causal mask a running sum. w sin Δ, w (cos Δ − 1) and everything else that the
forces and their derivatives need are such series with other coefficients.

Tokens are taken one at a time, with the modes in the vector lanes. The coefficients of large m
vanish like exp(-m²/2β): some 70 modes are exact to rounding at β = 64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from parkade.base.types import Array
from parkade.engine.compile.emit import (
    DOUBLE,
    INT64,
    Builder,
    Value,
    add,
    constant,
    fma,
    loop,
    multiply,
    pack,
    splat,
    subtract,
    total,
    vector,
)
from parkade.engine.compile.jit import FUSED, njit
from parkade.engine.sums.running import Chunk, Running
from parkade.engine.sums.series import LANES

Complex: TypeAlias = tuple[Value, Value]

# Rows of the table, the coefficients of Σ w, Σ w sin Δ, Σ w (cos Δ − 1), Σ w sin² Δ and
# Σ w (cos Δ − 1) sin Δ, then the numbers m. Odd functions are series of sines.
_ODD = (False, True, False, False, True)
_NUMBER = len(_ODD)


@njit(allocates=True)
def make_scratch(table: Array) -> Array:
    """A working array for the powers of a token and for its sums."""
    return np.zeros((3, table.shape[1]))


def _times(builder: Builder, a: Complex, b: Complex) -> Complex:
    """The product of complex numbers, or of vectors of them."""
    real = subtract(builder, multiply(builder, a[0], b[0]), multiply(builder, a[1], b[1]))
    return real, fma(builder, a[0], b[1], multiply(builder, a[1], b[0]))


def _powers(builder: Builder, z: Complex) -> tuple[Complex, Complex]:
    """(z⁰, …, z^(LANES−1)) as vectors, by doubling, and z^LANES."""
    powers = [(constant(1.0, DOUBLE), constant(0.0, DOUBLE)), z]
    step = _times(builder, z, z)
    while len(powers) < LANES:
        powers += [_times(builder, power, step) for power in powers]
        step = _times(builder, step, step)
    real, imaginary = (pack(builder, [power[part] for power in powers]) for part in range(2))
    return (real, imaginary), step


def _own(builder: Builder, bessel: Callable[[int], Value], row: int) -> Value:
    """A row of the table, from e^{−r} I_m around m."""
    half = constant(0.5, vector(LANES))
    if row == 0:
        return add(builder, bessel(0), bessel(0))
    sine = subtract(builder, bessel(-1), bessel(1))
    if row == 1:
        return sine
    if row == 2:
        before, after = (subtract(builder, bessel(i), bessel(0)) for i in (-1, 1))
        return add(builder, before, after)
    if row == 3:
        around = multiply(builder, half, add(builder, bessel(-2), bessel(2)))
        return subtract(builder, bessel(0), around)
    return subtract(
        builder, multiply(builder, half, subtract(builder, bessel(-2), bessel(2))), sine
    )


def make_sums(
    count: int, *, join: bool = False, change: bool = False, based: bool = True, own: bool = False
) -> Any:
    """A function that adds up the first `count` series for one token.

    Arguments: x and y of the token, a step, the state, the table, the scratch, and the result.
    With `join` the token's powers are added to the local sums afterwards, else they are left in
    the scratch. With `change`, the powers in the scratch belong to a token that moves by the
    step, and their changes, i m z^m times the step, are first added to the local sums. If not
    `based`, the base is taken to be zero, and the sums to be local. With `own` coefficients, the
    table has the rows e^{−r} I_m for m from −2 to size + 1, and the numbers m; the mode 0 counts
    twice then.
    """

    # Eight parameters: an intrinsic takes arrays one by one, and the first is Numba's own.
    @intrinsic
    def sums(
        typing: Any, x: Any, y: Any, step: Any, state: Any, table: Any, scratch: Any, out: Any
    ) -> Any:
        number = types.float64
        signature = types.void(number, number, number, state, table, scratch, out)

        def generate(context: Any, builder: Builder, signature: Any, args: Any) -> Any:
            arrays = [
                context.make_array(kind)(context, builder, value)
                for kind, value in zip(signature.args[3:], args[3:], strict=True)
            ]
            state, table, scratch, out = (array.data for array in arrays)
            width = builder.extract_value(arrays[1].shape, 1)
            size = builder.sub(width, ir.Constant(INT64, 4)) if own else width
            first, step = _powers(builder, (args[0], args[1]))
            wide_step = splat(builder, step[0], LANES), splat(builder, step[1], LANES)
            moved = splat(builder, args[2], LANES)

            def modes(m: Value, carried: list[Value]) -> list[Value]:
                real, imaginary, *sums = carried

                def at(data: Value, row: int) -> Value:
                    place = builder.add(builder.mul(size, ir.Constant(INT64, row)), m)
                    return builder.bitcast(builder.gep(data, [place]), vector(LANES).as_pointer())

                def load(data: Value, row: int) -> Value:
                    return builder.load(at(data, row), align=8)

                def bessel(shift: int) -> Value:  # of m + shift
                    place = builder.add(m, ir.Constant(INT64, 2 + shift))
                    start = builder.bitcast(builder.gep(table, [place]), vector(LANES).as_pointer())
                    return builder.load(start, align=8)

                def coefficient(row: int) -> Value:
                    return _own(builder, bessel, row) if own else load(table, row)

                def numbers() -> Value:
                    if not own:
                        return load(table, _NUMBER)
                    start = builder.gep(table, [builder.add(width, m)])
                    kind = vector(LANES).as_pointer()
                    return builder.load(builder.bitcast(start, kind), align=8)

                local = load(state, 2), load(state, 3)
                if change:
                    turn = multiply(builder, moved, numbers())
                    back = multiply(builder, turn, load(scratch, 1))
                    local = (
                        subtract(builder, local[0], back),
                        fma(builder, turn, load(scratch, 0), local[1]),
                    )
                    for part in range(2):
                        builder.store(local[part], at(state, 2 + part), align=8)
                s_real, s_imaginary = (
                    add(builder, load(state, part), local[part]) if based else local[part]
                    for part in range(2)
                )
                # conj(z^m) S_m
                even = fma(builder, real, s_real, multiply(builder, imaginary, s_imaginary))
                odd = subtract(
                    builder,
                    multiply(builder, real, s_imaginary),
                    multiply(builder, imaginary, s_real),
                )
                grown = [
                    fma(builder, coefficient(row), odd if _ODD[row] else even, sums[row])
                    for row in range(count)
                ]
                for part, power in enumerate((real, imaginary)):
                    if join:
                        joined = add(builder, power, local[part])
                        builder.store(joined, at(state, 2 + part), align=8)
                    else:
                        builder.store(power, at(scratch, part), align=8)
                return [*_times(builder, (real, imaginary), wide_step), *grown]

            start = [*first, *[constant(0.0, vector(LANES))] * count]
            _, _, *sums = loop(builder, ir.Constant(INT64, 0), size, LANES, start, modes)
            for row, value in enumerate(sums):
                place = builder.gep(out, [ir.Constant(INT64, row)])
                builder.store(total(builder, value), place)
            return context.get_dummy_value()

        return signature, generate

    return sums


_powers_only = make_sums(0)
_sums_alone = make_sums(3)
_two_sums, _three_sums, _five_sums = (make_sums(count, join=True) for count in (2, 3, 5))
_two_local_sums = make_sums(2, join=True, based=False)
_two_changes, _three_changes = (make_sums(count, change=True) for count in (2, 3))


LEAVES_NEAR = False
"""Whether sums among the tokens of a chunk are left to the caller."""


@njit()
def far_sums(
    running: Running, chunk: Chunk, out: Array, radial: bool, join: bool, based: bool
) -> None:
    """Sums over the tokens in the state, for the tokens of a chunk one by one.

    Sets rows of out to Σ w, Σ w (t − 1) and the vector Σ w (x_j − t x), where t = ⟨x_j, x⟩; the
    second only if `radial`, else to 0. With `join` each token is then added to the local sums.
    If not `based`, the base is known to be zero.
    """
    table, state, scratch = running
    x, lo, hi = chunk
    sums = scratch[2]
    for k in range(lo, hi):
        a, b = x[k, 0], x[k, 1]
        if not join:
            _sums_alone(a, b, 0.0, state, table, scratch, sums)
        elif radial:
            _three_sums(a, b, 0.0, state, table, scratch, sums)
        elif based:
            _two_sums(a, b, 0.0, state, table, scratch, sums)
        else:
            _two_local_sums(a, b, 0.0, state, table, scratch, sums)
        i = k - lo
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = sums[0], sums[2], -sums[1] * b, sums[1] * a


@njit()
def far_second(running: Running, chunk: Chunk, out: Array, second: Array) -> None:
    """`far_sums`, radial and with joining, and in `second` the matrices Σ w δ (Pδ)ᵀ.

    Here δ = x_j − x, and P projects on the tangent space.
    """
    table, state, scratch = running
    x, lo, hi = chunk
    sums = scratch[2]
    for k in range(lo, hi):
        a, b = x[k, 0], x[k, 1]
        _five_sums(a, b, 0.0, state, table, scratch, sums)
        i = k - lo
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = sums[0], sums[2], -sums[1] * b, sums[1] * a
        # δ = (cos Δ − 1) x + sin Δ τ with the tangent vector τ = (−b, a)
        first, then = sums[4] * a - sums[3] * b, sums[4] * b + sums[3] * a
        second[i, 0, 0], second[i, 0, 1] = -first * b, first * a
        second[i, 1, 0], second[i, 1, 1] = -then * b, then * a


@njit(fastmath=FUSED)
def add_features(running: Running, x: Array, mass: Array) -> None:
    """Add mass_j z_j^m of the tokens to the local sums."""
    table, state, scratch = running
    for j in range(x.shape[0]):
        _powers_only(x[j, 0], x[j, 1], 0.0, state, table, scratch, scratch[2])
        for part in range(2):
            power, local = scratch[part], state[2 + part]
            for m in range(local.size):
                local[m] += mass[j] * power[m]


# Inlined by LLVM: the call would cost as much as the sums.
@njit(forceinline=True)
def far_changes(running: Running, chunk: Chunk, u: Array, out: Array, radial: bool) -> None:
    """How the sums of token lo = hi − 1 change if every token j before it moves by u[:, j].

    To be called for one token after the other: the state holds the changes up to token lo − 2, and
    the scratch the powers of token lo − 1.
    """
    table, state, scratch = running
    x, lo, _ = chunk
    a, b = x[lo, 0], x[lo, 1]
    step = x[lo - 1, 0] * u[1, lo - 1] - x[lo - 1, 1] * u[0, lo - 1] if lo > 0 else 0.0
    sums = scratch[2]
    if radial:
        _three_changes(a, b, step, state, table, scratch, sums)
    else:
        _two_changes(a, b, step, state, table, scratch, sums)
    out[0, 0], out[0, 1], out[0, 2], out[0, 3] = sums[0], sums[2], -sums[1] * b, sums[1] * a
