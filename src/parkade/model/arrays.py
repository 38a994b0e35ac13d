"""Arrays of any library that follows the array API standard."""

from __future__ import annotations

from typing import Any

import numpy as np


def like(array: Any, tokens: Any) -> Any:
    """`array` in the namespace, with the dtype and on the device of `tokens`."""
    from array_api_compat import array_namespace, device

    xp = array_namespace(tokens)
    return xp.asarray(np.asarray(array), dtype=tokens.dtype, device=device(tokens), copy=True)
