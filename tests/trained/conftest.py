"""The real model of the tests: ALBERT, 3 MB, which pip gets once."""

from __future__ import annotations

import pytest
from support.experiments import computed_once

import parkade as pk
from parkade.trained import heads


@pytest.fixture(scope="session")
def albert():
    """Without a registry and without the cache, this fails with the sentence of `fetch`."""
    return pk.trained.load("ALBERT-rxn", download=True)


@pytest.fixture(scope="session", autouse=True)
def same_random_heads_once():
    """Several studies of one model draw the same random heads: the larger part of their time."""

    def key(d, m, draws, rng, report):
        return d, m, draws, str(rng.bit_generator.state)

    with pytest.MonkeyPatch.context() as patch:
        computed_once(patch, heads, "_random", key)
        yield
