"""What tests of sums in linear time are repeated for.

Apart from what they work with, which `tests/compile.py` needs before there is a pytest.
"""

from __future__ import annotations

import pytest

from support.harmonics import BETAS

both = pytest.mark.parametrize("d", [2, 3])
masks = pytest.mark.parametrize("mask", ["causal", "full"])
betas = pytest.mark.parametrize("beta", BETAS)
