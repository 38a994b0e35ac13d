"""Tensors of any library as NumPy arrays, without importing one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkade.base import check
from parkade.base.errors import InputError


def is_array(value: Any) -> bool:
    """Whether this is an array or a tensor, of whatever library."""
    return hasattr(value, "shape") and hasattr(value, "dtype")


def as_array(name: str, value: Any) -> NDArray[Any]:
    """An array or a tensor as a NumPy array of finite real numbers, float32 or float64.

    Tensors may be on a GPU, need a gradient, or have half the digits of a float32.
    """
    plain = value
    try:
        for step in ("detach", "cpu"):
            if callable(getattr(plain, step, None)):
                plain = getattr(plain, step)()
        if callable(getattr(plain, "float", None)) and "float64" not in str(plain.dtype):
            plain = plain.float()  # bfloat16 has no twin in NumPy
        if not isinstance(plain, np.ndarray):
            plain = np.from_dlpack(plain) if hasattr(plain, "__dlpack__") else np.asarray(plain)
    except Exception as error:  # of any type: every library has its own
        raise InputError(
            f"{name} cannot be read as an array ({check.reason(error)}); pass NumPy arrays"
        ) from None
    if plain.dtype.kind in "OUSMmcb":
        raise InputError(f"{name} must be real numbers, got {plain.dtype.name}")
    if plain.dtype not in (np.float32, np.float64):  # float16, bfloat16 of JAX, integers
        plain = plain.astype(np.float32)
    if not np.isfinite(plain).all():
        where = np.argwhere(~np.isfinite(plain))[0].tolist()
        raise InputError(
            f"{name} must be finite, got {plain[tuple(where)]} at index {where}; float16 overflows "
            "in many models: compute in bfloat16 or float32"
        )
    result: NDArray[Any] = plain
    return result
