"""The Jacobian of causal attention with direct or harmonic sums, chosen when code is compiled."""

from __future__ import annotations

from typing import Any

from numba.extending import overload

from parkade.engine import harmonic_linear, linear, solve
from parkade.engine.features import DIMENSIONS


def linearize(system: Any, dims: Any, beta_a: Any, x: Any, lin: Any) -> Any:
    """Fill `lin` at the tokens `x`; `beta_a` is βKᵀQ."""


@overload(linearize)
def _linearize(system: Any, dims: Any, beta_a: Any, x: Any, lin: Any) -> Any:
    def direct(system: Any, dims: Any, beta_a: Any, x: Any, lin: Any) -> None:
        linear.linearize(system, beta_a, x, lin)

    def either(system: Any, dims: Any, beta_a: Any, x: Any, lin: Any) -> None:
        if system.table.size > 0:
            harmonic_linear.linearize(system, dims, beta_a, x, lin)
        else:
            linear.linearize(system, beta_a, x, lin)

    return either if len(dims) in DIMENSIONS else direct


def forward(system: Any, dims: Any, x: Any, lin: Any, inverses: Any, right: Any, u: Any) -> Any:
    """Solve (diagonal − J) u = right by forward substitution over the tokens."""


@overload(forward)
def _forward(system: Any, dims: Any, x: Any, lin: Any, inverses: Any, right: Any, u: Any) -> Any:
    def direct(system: Any, dims: Any, x: Any, lin: Any, inverses: Any, right: Any, u: Any) -> None:
        solve.solve(system, lin, inverses, right, u)

    def either(system: Any, dims: Any, x: Any, lin: Any, inverses: Any, right: Any, u: Any) -> None:
        if system.table.size > 0:
            harmonic_linear.solve(system, dims, x, lin, inverses, right, u)
        else:
            solve.solve(system, lin, inverses, right, u)

    return either if len(dims) in DIMENSIONS else direct
