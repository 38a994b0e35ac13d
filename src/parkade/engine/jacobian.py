"""The flow linearised, with direct or harmonic sums, chosen when code is compiled."""

from __future__ import annotations

from typing import Any

from numba.extending import overload

from parkade.base.types import Array
from parkade.engine import harmonic_linear, linear
from parkade.engine.features import DIMENSIONS
from parkade.engine.linear import Linearization
from parkade.engine.system import System


def linearize(
    system: System, dims: tuple[int, ...], beta_a: Array, x: Array, lin: Linearization
) -> None:
    """Fill `lin` at the tokens `x`; `beta_a` is βKᵀQ.

    From the interpreter, harmonic sums are shared out to all cores.
    """
    if system.table.size > 0:
        harmonic_linear.linearize_shared(system, dims, beta_a, x, lin)
    else:
        linear.linearize(system, beta_a, x, lin)


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
