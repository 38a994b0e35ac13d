"""Arrays of parts: biases, and arrays in the library of the tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array


def bias(name: str, value: ArrayLike | None, size: int) -> Array:
    """The biases of `size` outputs of a matrix, checked; zeros for None."""
    array = np.zeros(size) if value is None else check.array(name, value)
    if array.shape != (size,):
        raise InputError(f"{name} must have {size} entries, got shape {array.shape}")
    if np.abs(array).max(initial=0.0) > check.LARGEST:
        raise InputError(f"entries of {name} must be at most {check.LARGEST:g} in size")
    return array


def like(array: Any, tokens: Any) -> Any:
    """An array of the library, the dtype and the device of `tokens`, for the force of a `Part`.

    Examples
    --------
    >>> import numpy as np
    >>> import parkade as pk
    >>> pk.like([0.0, 0.5], tokens=np.ones((3, 2), dtype=np.float32))
    array([0. , 0.5], dtype=float32)
    """
    from array_api_compat import array_namespace, device

    xp = array_namespace(tokens)
    return xp.asarray(np.asarray(array), dtype=tokens.dtype, device=device(tokens), copy=True)
