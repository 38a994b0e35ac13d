"""The flow linearised: direct or harmonic sums and the mask are chosen when code is compiled."""

from __future__ import annotations

from typing import Any

from numba.extending import overload

from parkade.base.types import Array
from parkade.engine.compile.jit import is_bundle, lacks
from parkade.engine.field import linear as field_linear
from parkade.engine.field.field import Field
from parkade.engine.flow import linear_time
from parkade.engine.jacobian import pairwise_linear
from parkade.engine.jacobian.full_jacobian import assemble
from parkade.engine.system import Dims, System


def linearize(system: System | Field, dims: Dims, beta_query: Array, x: Array, work: Any) -> None:
    """Fill `work.lin`, and `work.whole` if there is one, at the tokens `x`; `beta_query` is βKᵀQ.

    From the interpreter, harmonic sums are shared out to all cores.
    """
    if isinstance(system, Field):
        field_linear.linearize(system, x, work.lin)
        return
    if system.table is not None:
        linear_time.linearize_shared(system, dims, beta_query, x, work.lin)
        return
    pairwise_linear.linearize(system, beta_query, x, work.lin)
    if work.whole is not None:
        assemble(system, work.lin, work.whole.jacobian)


@overload(linearize)
def _linearize(system: Any, dims: Any, beta_query: Any, x: Any, work: Any) -> Any:
    def direct(system: Any, dims: Any, beta_query: Any, x: Any, work: Any) -> None:
        pairwise_linear.linearize(system, beta_query, x, work.lin)

    def whole(system: Any, dims: Any, beta_query: Any, x: Any, work: Any) -> None:
        pairwise_linear.linearize(system, beta_query, x, work.lin)
        assemble(system, work.lin, work.whole.jacobian)

    def by_series(system: Any, dims: Any, beta_query: Any, x: Any, work: Any) -> None:
        linear_time.linearize(system, dims, beta_query, x, work.lin)

    def of_field(system: Any, dims: Any, beta_query: Any, x: Any, work: Any) -> None:
        field_linear.linearize(system, x, work.lin)

    if is_bundle(system, Field):
        return of_field
    if not lacks(system, "table"):
        return by_series
    return direct if lacks(work, "whole") else whole
