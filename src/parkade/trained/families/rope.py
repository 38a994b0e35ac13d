"""RoPE: its frequencies, and the order of the axes it turns."""

from __future__ import annotations

import math

import numpy as np

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.trained.block import Floats
from parkade.trained.families.take import ModelSettings


def frequencies(settings: ModelSettings, size: int, base: float = 1e4) -> Array:
    """Angles per place of the size/2 planes that are turned."""
    if size % 2:
        raise InputError(f"RoPE turns planes, so it needs an even number of axes, got {size}")
    config = settings.config
    extra = config.get("rope_parameters") or config.get("rope_scaling") or {}
    if not isinstance(extra, dict):
        raise InputError(f"the setting rope_scaling must be an object, got {check.brief(extra)}")
    inner = ModelSettings(extra)
    base = inner.number("rope_theta", settings.number("rope_theta", base))
    result: Array = base ** (-2.0 * np.arange(size // 2) / size)
    kind = extra.get("rope_type", extra.get("type", "default"))
    if kind == "default":
        return result
    if kind == "linear":
        return result / inner.number("factor", 1.0)
    if kind == "llama3":
        return _slowed(result, inner)
    raise InputError(
        f"the kind of RoPE {check.brief(kind)} is unknown; known are 'default', 'linear', 'llama3'"
    )


def _slowed(turns: Array, settings: ModelSettings) -> Array:
    """Llama 3's: slow planes are slowed further, fast ones are not, with a ramp in between."""
    low, high = settings.number("low_freq_factor", 1.0), settings.number("high_freq_factor", 4.0)
    whole = settings.number("original_max_position_embeddings", 8192) * turns / (2 * math.pi)
    ramp = np.clip((whole - low) / (high - low), 0.0, 1.0)
    slowed: Array = turns * (ramp + (1 - ramp) / settings.number("factor", 8.0))
    return slowed


def interleave(rows: Floats, heads: int, size: int) -> Floats:
    """Rows of queries or keys whose planes are (i, i + size/2), reordered to (2i, 2i + 1)."""
    each = len(rows) // heads
    half = np.arange(size // 2)
    order = np.concatenate([np.stack([half, half + size // 2], 1).ravel(), np.arange(size, each)])
    shaped = rows.reshape(heads, each, *rows.shape[1:])
    reordered: Floats = shaped[:, order].reshape(rows.shape)
    return reordered
