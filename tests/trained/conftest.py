"""The real model of the tests: ALBERT, 3 MB, which pip gets once."""

from __future__ import annotations

import pytest

import parkade as pk
from parkade.trained import heads


@pytest.fixture(scope="session")
def albert():
    """Without a registry and without the cache, this fails with the sentence of `fetch`."""
    return pk.trained.load("ALBERT-rxn", download=True)


@pytest.fixture(scope="session", autouse=True)
def same_random_heads_once():
    """Several studies of one model draw the same random heads: the larger part of their time."""
    known = {}
    draw = heads._random

    def draw_once(d, m, draws, rng, report):
        key = d, m, draws, str(rng.bit_generator.state)
        if key not in known:
            known[key] = draw(d, m, draws, rng, report)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heads, "_random", draw_once)
        yield
