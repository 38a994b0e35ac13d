"""Type aliases that all folders share."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Seed: TypeAlias = int | np.random.Generator | None
MaskName: TypeAlias = Literal["causal", "full"]
