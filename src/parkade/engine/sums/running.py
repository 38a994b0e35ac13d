"""Running sums of features: what `fourier` and `legendre` add tokens to, and how they keep digits.

Running sums have two parts, and the rounding errors of the large part are carried along:
tokens are added to `local` sums, which are folded into the `base` every FOLD tokens. Groups of
GROUP tokens are accounted for one by one, so that several threads can share them with the same
result, bit for bit.
"""

from __future__ import annotations

from typing import NamedTuple

from parkade.base.types import Array
from parkade.engine.compile.jit import njit

CHUNK = 64
"""The largest number of tokens whose sums are evaluated at once."""

FOLD = 256
GROUP = 16384


class Running(NamedTuple):
    """Sums of features over the tokens so far, and what is needed to add to them."""

    table: Array  # coefficients of the series
    state: Array  # (4, size): base and local sums, each with a real and an imaginary row
    scratch: Array  # working memory for one thread


class Chunk(NamedTuple):
    """The tokens lo ≤ k < hi of x, at most CHUNK of them.

    Not a slice of x: compiled for slices, some sums round differently.
    """

    x: Array
    lo: int
    hi: int


class TokenGroup(NamedTuple):
    """The tokens lo ≤ k < hi, and the sums over the tokens before them.

    Rows of the ledger (8, size), each pair with a real and an imaginary one: the sums before the
    group, what rounding took from them, the sums of the group, and what rounding took from those.
    """

    lo: int
    hi: int
    ledger: Array


@njit()
def fold(state: Array, ledger: Array) -> None:
    """Move the local sums to those of the group, and set the base to all so far."""
    for part in range(2):
        base, local = state[part], state[2 + part]
        before, lost_before = ledger[part], ledger[2 + part]
        group, lost = ledger[4 + part], ledger[6 + part]
        for i in range(base.size):
            group[i], error = _two_sum(group[i], local[i])
            lost[i] += error
            local[i] = 0.0
            base[i] = before[i] + (group[i] + (lost[i] + lost_before[i]))


@njit()
def close_group(ledger: Array) -> None:
    """Count the group among what was before, and begin a new one."""
    for part in range(2):
        before, lost_before = ledger[part], ledger[2 + part]
        group, lost = ledger[4 + part], ledger[6 + part]
        for i in range(before.size):
            before[i], error = _two_sum(before[i], group[i])
            lost_before[i] += error + lost[i]
            group[i] = 0.0
            lost[i] = 0.0


@njit()
def _two_sum(a: float, b: float) -> tuple[float, float]:
    """The rounded sum, and what rounding took from it (D. E. Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)
