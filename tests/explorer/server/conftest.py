"""A client of a server whose runs are short."""

from __future__ import annotations

import pytest
from support.explorer import Client

from parkade.explorer import Limits


@pytest.fixture(scope="module")
def client():
    """A client of a server whose runs take at most two seconds."""
    made = Client(Limits(seconds=2.0))
    yield made
    made.queue.close()
