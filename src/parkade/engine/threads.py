"""Who may use the machine's cores, and when."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

PARALLEL_LOCK = threading.Lock()
"""Held around parallel regions: not every threading layer of Numba bears two at once."""


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Run matrix products on the calling thread.

    Our own threads already share out the tiles, and a product split over threads might
    round differently on another machine.
    """
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> Any:
    import scipy.linalg  # noqa: F401  the BLAS that compiled code calls: load it, then find it
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
