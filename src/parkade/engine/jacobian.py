"""The flow linearised, with direct or harmonic sums, chosen when code is compiled."""

from __future__ import annotations

from typing import Any

from numba.extending import overload

from parkade.base.types import Array
from parkade.engine import harmonic_linear, pairwise_linear
from parkade.engine.basis import DIMENSIONS
from parkade.engine.linearization import Linearization
from parkade.engine.system import Dims, System


def linearize(system: System, dims: Dims, beta_query: Array, x: Array, lin: Linearization) -> None:
    """Fill `lin` at the tokens `x`; `beta_query` is βKᵀQ.

    From the interpreter, harmonic sums are shared out to all cores.
    """
    if system.table.size > 0:
        harmonic_linear.linearize_shared(system, dims, beta_query, x, lin)
    else:
        pairwise_linear.linearize(system, beta_query, x, lin)


@overload(linearize)
def _linearize(system: Any, dims: Any, beta_query: Any, x: Any, lin: Any) -> Any:
    def direct(system: Any, dims: Any, beta_query: Any, x: Any, lin: Any) -> None:
        pairwise_linear.linearize(system, beta_query, x, lin)

    def either(system: Any, dims: Any, beta_query: Any, x: Any, lin: Any) -> None:
        if system.table.size > 0:
            harmonic_linear.linearize(system, dims, beta_query, x, lin)
        else:
            pairwise_linear.linearize(system, beta_query, x, lin)

    return either if len(dims) in DIMENSIONS else direct
