"""The functions of `fourier` or `legendre`, chosen when code is compiled for a dimension.

All take a tuple of length d first, and are for compiled code only.
"""

from __future__ import annotations

from typing import Any

from numba.extending import overload

from parkade.engine import fourier, legendre

DIMENSIONS = {2: fourier, 3: legendre}
"""Where harmonic sums are known."""

CHUNK = legendre.CHUNK
"""The largest number of tokens taken at once."""


def make_scratch(dims: Any, table: Any) -> Any:
    """Room for the features of a chunk of tokens."""


@overload(make_scratch)
def _make_scratch(dims: Any, table: Any) -> Any:
    function = DIMENSIONS[len(dims)].make_scratch

    def call(dims: Any, table: Any) -> Any:
        return function(table)

    return call


def leaves_near(dims: Any) -> Any:
    """Whether sums among the tokens of a chunk are left to the caller."""


@overload(leaves_near)
def _leaves_near(dims: Any) -> Any:
    function = DIMENSIONS[len(dims)].leaves_near

    def call(dims: Any) -> Any:
        return function()

    return call


def far_sums(
    dims: Any,
    table: Any,
    x: Any,
    lo: Any,
    hi: Any,
    scratch: Any,
    state: Any,
    out: Any,
    radial: Any,
    join: Any,
    based: Any,
) -> Any:
    """Sums over the tokens in the state, for the tokens lo ≤ k < hi."""


@overload(far_sums)
def _far_sums(
    dims: Any,
    table: Any,
    x: Any,
    lo: Any,
    hi: Any,
    scratch: Any,
    state: Any,
    out: Any,
    radial: Any,
    join: Any,
    based: Any,
) -> Any:
    function = DIMENSIONS[len(dims)].far_sums

    def call(
        dims: Any,
        table: Any,
        x: Any,
        lo: Any,
        hi: Any,
        scratch: Any,
        state: Any,
        out: Any,
        radial: Any,
        join: Any,
        based: Any,
    ) -> Any:
        return function(table, x, lo, hi, scratch, state, out, radial, join, based)

    return call


def far_second(
    dims: Any, table: Any, x: Any, lo: Any, hi: Any, scratch: Any, state: Any, out: Any, second: Any
) -> Any:
    """`far_sums` with everything, and second moments; the tokens join."""


@overload(far_second)
def _far_second(
    dims: Any, table: Any, x: Any, lo: Any, hi: Any, scratch: Any, state: Any, out: Any, second: Any
) -> Any:
    function = DIMENSIONS[len(dims)].far_second

    def call(
        dims: Any,
        table: Any,
        x: Any,
        lo: Any,
        hi: Any,
        scratch: Any,
        state: Any,
        out: Any,
        second: Any,
    ) -> Any:
        return function(table, x, lo, hi, scratch, state, out, second)

    return call


def add_features(
    dims: Any, table: Any, x: Any, mass: Any, lo: Any, hi: Any, scratch: Any, state: Any
) -> Any:
    """Add tokens to the local sums."""


@overload(add_features)
def _add_features(
    dims: Any, table: Any, x: Any, mass: Any, lo: Any, hi: Any, scratch: Any, state: Any
) -> Any:
    function = DIMENSIONS[len(dims)].add_features

    def call(
        dims: Any, table: Any, x: Any, mass: Any, lo: Any, hi: Any, scratch: Any, state: Any
    ) -> Any:
        return function(table, x, mass, lo, hi, scratch, state)

    return call


def far_changes(
    dims: Any,
    table: Any,
    x: Any,
    u: Any,
    lo: Any,
    hi: Any,
    scratch: Any,
    state: Any,
    out: Any,
    radial: Any,
) -> Any:
    """How the sums of tokens change if those before them move; chunk after chunk."""


@overload(far_changes, inline="always")
def _far_changes(
    dims: Any,
    table: Any,
    x: Any,
    u: Any,
    lo: Any,
    hi: Any,
    scratch: Any,
    state: Any,
    out: Any,
    radial: Any,
) -> Any:
    function = DIMENSIONS[len(dims)].far_changes

    def call(
        dims: Any,
        table: Any,
        x: Any,
        u: Any,
        lo: Any,
        hi: Any,
        scratch: Any,
        state: Any,
        out: Any,
        radial: Any,
    ) -> Any:
        return function(table, x, u, lo, hi, scratch, state, out, radial)

    return call
