"""The harmonic functions of each dimension: `fourier` on the circle, `legendre` on S².

Both modules have the same functions, with the same arguments.
"""

from __future__ import annotations

from typing import Any

from numba.extending import overload

from parkade.engine.sums import fourier, legendre
from parkade.engine.system import Dims

DIMENSIONS = {2: fourier, 3: legendre}
"""Where harmonic sums are known."""


def basis(dims: Dims) -> Any:
    """The module for the dimension len(dims); chosen when a caller is compiled."""
    return DIMENSIONS[len(dims)]


@overload(basis)
def _basis(dims: Any) -> Any:
    module = DIMENSIONS[len(dims)]

    def choose(dims: Any) -> Any:
        return module

    return choose
