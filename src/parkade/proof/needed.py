"""What proofs need besides parkade."""

from __future__ import annotations

from importlib.util import find_spec

from parkade.base.errors import ParkadeError


def flint() -> None:
    """Raise an error if python-flint is not installed."""
    if find_spec("flint") is None:
        raise ParkadeError("proofs need the library python-flint: pip install 'parkade[proof]'")
