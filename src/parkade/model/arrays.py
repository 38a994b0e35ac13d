"""Arrays of any library that follows the array API standard."""

from __future__ import annotations

from typing import Any

import numpy as np


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
