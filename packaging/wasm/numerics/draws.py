"""NumPy's random numbers, bit for bit: `default_rng(seed).standard_normal`.

A seed is mixed into the state of a PCG64 generator by NumPy's SeedSequence (M. O'Neill, PCG: a
family of simple fast space-efficient statistically good algorithms, 2014). Normal numbers come from
the ziggurat of J. Doornik (2005), whose tables Numba has as well.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba.np.random import _constants as ziggurat

from parkade.base.types import Array
from parkade.engine.compile.jit import njit

_POOL = 4  # words of 32 bits
_KI, _WI, _FI = ziggurat.ki_double, ziggurat.wi_double, ziggurat.fi_double
_EDGE, _INVERSE_EDGE = float(ziggurat.ziggurat_nor_r), float(ziggurat.ziggurat_nor_inv_r)

_WORD, _HALF, _ONE = np.uint64(0xFFFFFFFF), np.uint64(32), np.uint64(1)
_SHORT, _BYTE, _EIGHT = np.uint64(16), np.uint64(0xFF), np.uint64(8)
_FIRST_A, _TIMES_A = np.uint64(0x43B0D7E5), np.uint64(0x931E8875)
_FIRST_B, _TIMES_B = np.uint64(0x8B51F9DD), np.uint64(0x58F38DED)
_LEFT, _RIGHT = np.uint64(0xCA01F9DD), np.uint64(0x4973F715)
_TIMES = np.uint64(2549297995355413924), np.uint64(4865540595714422341)  # of PCG64
_TURNS, _ROUND = np.uint64(58), np.uint64(63)  # its rotation, by the upper 6 of 64 bits
_ELEVEN, _MANTISSA = np.uint64(11), np.uint64(0x000FFFFFFFFFFFFF)


@njit()
def _spread(value: Any, factor: Any) -> Any:
    """A word times a factor, with its upper half mixed into the lower one."""
    value = (value * factor) & _WORD
    return value ^ (value >> _SHORT)


@njit(allocates=True)
def words_of(seed: float, key: int) -> Any:
    """The first eight words of 32 bits that a SeedSequence generates.

    The key is that of a spawned sequence, or negative for the sequence itself.
    """
    number = np.uint64(seed)
    entropy = np.zeros(_POOL + 1, dtype=np.uint64)
    entropy[0], entropy[1] = number & _WORD, number >> _HALF
    size = _POOL
    if key >= 0:
        entropy[_POOL] = np.uint64(key)
        size += 1
    pool = np.zeros(_POOL, dtype=np.uint64)
    mask = _FIRST_A
    for i in range(_POOL):
        before, mask = mask, (mask * _TIMES_A) & _WORD
        pool[i] = _spread(entropy[i] ^ before, mask)
    for i in range(size):
        for j in range(_POOL):
            if i != j:
                before, mask = mask, (mask * _TIMES_A) & _WORD
                word = _spread((pool[i] if i < _POOL else entropy[i]) ^ before, mask)
                mixed = (_LEFT * pool[j] - _RIGHT * word) & _WORD
                pool[j] = mixed ^ (mixed >> _SHORT)
    words = np.zeros(2 * _POOL, dtype=np.uint64)
    mask = _FIRST_B
    for i in range(2 * _POOL):
        before, mask = mask, (mask * _TIMES_B) & _WORD
        words[i] = _spread(pool[i % _POOL] ^ before, mask)
    return words


@njit(allocates=True)
def seeded(seed: float, key: int) -> Any:
    """The state of a generator, and its increment: four words of 64 bits; see `words_of`."""
    words = words_of(seed, key)
    out = np.zeros(4, dtype=np.uint64)
    for i in range(4):
        out[i] = words[2 * i] | (words[2 * i + 1] << _HALF)
    high, low = out[0], out[1]
    out[2] = (out[2] << _ONE) | (out[3] >> _ROUND)
    out[3] = (out[3] << _ONE) | _ONE
    out[0], out[1] = out[2], out[3]  # one step from 0
    out[1] += low
    out[0] += high + (_ONE if out[1] < low else _ONE - _ONE)
    _step(out)
    return out


@njit()
def _step(state: Any) -> None:
    """Advance the state: a product of 128 bits, computed in halves, and a sum."""
    high, low = state[0], state[1]
    times_high, times_low = _TIMES
    a, b = low & _WORD, low >> _HALF
    c, e = times_low & _WORD, times_low >> _HALF
    middle = b * c + ((a * c) >> _HALF)
    other = a * e + (middle & _WORD)
    upper = b * e + (middle >> _HALF) + (other >> _HALF)
    upper += high * times_low + low * times_high
    lower = low * times_low + state[3]
    state[0] = upper + state[2] + (_ONE if lower < state[3] else _ONE - _ONE)
    state[1] = lower


@njit()
def _next(state: Any) -> Any:
    """The next 64 random bits."""
    _step(state)
    turns = state[0] >> _TURNS
    bits = state[0] ^ state[1]
    return (bits >> turns) | (bits << ((_ROUND - turns + _ONE) & _ROUND))


@njit()
def _uniform(state: Any) -> float:
    """A uniform random number from 0 to 1."""
    return (_next(state) >> _ELEVEN) * (1.0 / 9007199254740992.0)


@njit()
def normal(state: Any) -> float:
    """A random number with the standard normal distribution."""
    while True:
        bits = _next(state)
        layer = int(bits & _BYTE)
        bits >>= _EIGHT
        size = (bits >> _ONE) & _MANTISSA
        x = size * _WI[layer]
        if bits & _ONE != _ONE - _ONE:
            x = -x
        if size < _KI[layer]:
            return x
        if layer > 0:
            low, high = _FI[layer], _FI[layer - 1]
            if (high - low) * _uniform(state) + low < math.exp(-0.5 * x * x):
                return x
            continue
        while True:
            beyond = -_INVERSE_EDGE * _log1p(-_uniform(state))
            depth = -_log1p(-_uniform(state))
            if depth + depth > beyond * beyond:
                negative = (size >> _EIGHT) & _ONE != _ONE - _ONE
                return -(_EDGE + beyond) if negative else _EDGE + beyond


_LN2 = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_LP1, _LP2, _LP3, _LP4, _LP5, _LP6, _LP7 = (
    *(6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01),
    *(2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01),
    1.479819860511658591e-01,
)
_NEAR, _MIDDLE = 0.29289221763610840, 1.4142131805419922  # numbers with short mantissas
_ALMOST_1, _ALMOST_2 = 1.0 + 2.0**-20, 2.0 - 3 * 2.0**-20


@njit()
def _log1p(x: float) -> float:
    """The logarithm of 1 + x for −1 < x ≤ 0, by the method of fdlibm (Sun Microsystems, 1993).

    Most C libraries use it, too; another method would round differently once in a thousand times.
    The far tails of the normal distribution depend on it, and tokens must have the same bits.
    """
    if x > -(2.0**-29):
        return x if x > -(2.0**-54) else x - x * x * 0.5
    k, f, rest, short = 0.0, x, 0.0, False
    if x <= -_NEAR:
        u = 1.0 + x
        rest = (x - (u - 1.0)) / u
        while u < 1.0:
            u *= 2.0
            k -= 1.0
        if u < _MIDDLE:
            short = u < _ALMOST_1
        else:
            short = u >= _ALMOST_2
            u *= 0.5
            k += 1.0
        f = u - 1.0
    half = 0.5 * f * f
    if short:
        if f == 0.0:
            return k * _LN2[0] + (rest + k * _LN2[1])
        part = half * (1.0 - 0.66666666666666666 * f)
        return k * _LN2[0] - ((part - (k * _LN2[1] + rest)) - f)
    s = f / (2.0 + f)
    z = s * s
    z2 = z * z
    z4 = z2 * z2
    total = z * _LP1 + z2 * (_LP2 + z * _LP3) + z4 * (_LP4 + z * _LP5)
    total += (z4 * z2) * (_LP6 + z * _LP7)
    if k == 0.0:
        return f - (half - s * (half + total))
    return k * _LN2[0] - ((half - (s * (half + total) + (k * _LN2[1] + rest))) - f)


@njit(allocates=True)
def uniform(seed: float, out: Array) -> None:
    """Set `out`, (n, d), to random points on the sphere, as `sphere.uniform` draws them."""
    state = seeded(seed, -1)
    n, d = out.shape
    for k in range(n):
        for c in range(d):
            out[k, c] = normal(state)
    for k in range(n):
        scale = 0.0
        for c in range(d):
            scale = max(scale, abs(out[k, c]))
        for c in range(d):
            out[k, c] /= scale
    units(out)


@njit()
def units(x: Array) -> None:
    """Divide rows by their lengths, as `check.tokens` does."""
    for k in range(x.shape[0]):
        square = 0.0
        for c in range(x.shape[1]):
            square += x[k, c] * x[k, c]
        length = math.sqrt(square)
        for c in range(x.shape[1]):
            x[k, c] /= length


@njit(allocates=True)
def gaussian(seed: float, key: int, out: Array) -> None:
    """Set `out` to a matrix as `matrices.seeded` draws it; the key is the code of its name."""
    state = seeded(seed, key)
    d = out.shape[0]
    for r in range(d):
        for c in range(d):
            out[r, c] = normal(state) / math.sqrt(d)
