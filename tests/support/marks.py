"""What tests are repeated for: dimensions, masks, β, and seeds.

Apart from what they work with, which `tests/compile.py` needs before there is a pytest.
"""

from __future__ import annotations

import os

import pytest

from support.harmonics import BETAS

both = pytest.mark.parametrize("d", [2, 3])
masks = pytest.mark.parametrize("mask", ["causal", "full"])
betas = pytest.mark.parametrize("beta", BETAS)


def many(few, more):
    """A few cases, or many with `make fuzz`."""
    return more if "PARKADE_FUZZ" in os.environ else few


def seeds(few, more):
    """A few seeds, or more with `make fuzz`."""
    return pytest.mark.parametrize("seed", range(many(few, more)))
