"""RoPE: its frequencies, and the order of the axes it turns."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.types import Array
from parkade.trained.block import Floats
from parkade.trained.families.common import unread
from parkade.trained.families.common.settings import ModelSettings

_KNOWN = ("default", "linear", "llama3", "yarn")


@dataclass(frozen=True, eq=False)
class Rotation:
    """Positions by rotation; without arguments, none.

    Attributes
    ----------
    turns : (p,) array
        Angles per place of p planes.
    factor : float
        Queries and keys are multiplied by it in these planes (YaRN).
    interleaved : bool
        Whether the planes of the file are (0, 1), (2, 3), … and not (0, p), (1, p + 1), …
    """

    turns: Array = field(default_factory=lambda: np.empty(0))
    factor: float = 1.0
    interleaved: bool = False

    def rows(self, rows: Floats, each: int) -> Floats:
        """Rows of queries or keys, `each` per head, with the factor and planes side by side."""
        p = len(self.turns)
        if not p or (self.interleaved and self.factor == 1.0):
            return rows
        shaped = rows.reshape(-1, each, *rows.shape[1:])
        if not self.interleaved:
            planes = np.stack([np.arange(p), np.arange(p, 2 * p)], 1).ravel()
            shaped = shaped[:, np.concatenate([planes, np.arange(2 * p, each)])]
        if self.factor != 1.0:
            shaped = np.array(shaped)
            shaped[:, : 2 * p] *= self.factor
        arranged: Floats = shaped.reshape(rows.shape)
        return arranged


def extra(settings: ModelSettings) -> ModelSettings:
    """The object with the settings of RoPE, under its new or its old name."""
    new, old = settings.part("rope_parameters"), settings.part("rope_scaling")
    if new is not None and old is not None and new.config != old.config:
        raise InputError(
            "the settings rope_parameters and rope_scaling of the model differ; delete one of them "
            "from config.json"
        )
    return new or old or ModelSettings({}, "rope_parameters.")


def read(settings: ModelSettings, size: int, inner: ModelSettings, base: float) -> Rotation:
    """The RoPE of heads that turn `size` axes; `base` is for settings without a rope_theta."""
    if size % 2:
        raise InputError(
            f"RoPE turns planes, so it needs an even number of axes, got {size}, by the size of a "
            "head and the settings partial_rotary_factor or rotary_pct"
        )
    kind, old = inner.value("rope_type"), inner.value("type")
    kind = kind or old or "default"
    base = inner.number("rope_theta", base)
    turns: Array = base ** (-2.0 * np.arange(size // 2) / size)
    factor = 1.0
    if kind == "linear":
        turns = turns / inner.number("factor")
    elif kind == "llama3":
        turns = _slowed(turns, inner, _trained(settings, inner))
    elif kind == "yarn":
        turns, factor = _yarn(turns, base, inner, _trained(settings, inner))
    elif kind != "default":
        known = ", ".join(map(repr, _KNOWN))
        raise InputError(
            f"the kind of RoPE {check.brief(kind)} is unknown; known are {known} (the setting "
            f"{inner.inside}rope_type)"
        )
    unread.check_settings(inner, f"RoPE {check.brief(kind)} of such")
    return Rotation(turns, factor, settings.flag("rope_interleaved", False))


def axes(settings: ModelSettings, inner: ModelSettings, d_head: int, usual: float) -> int:
    """The number of axes of a head that are turned: a share of them, `usual` by default."""
    name = "partial_rotary_factor"
    share = inner.number(name, settings.number(name, usual))
    if share > 1:
        raise InputError(f"the setting {name} of the model must be at most 1, got {share:g}")
    return int(d_head * share)


def _trained(settings: ModelSettings, inner: ModelSettings) -> int:
    """The number of tokens up to which the model was trained before its RoPE was slowed."""
    name = "original_max_position_embeddings"
    settings.only(name, None, f"a model with this RoPE, outside of {inner.inside[:-1]},")
    return inner.size(name, settings.size("max_position_embeddings"))


def _slowed(turns: Array, inner: ModelSettings, trained: int) -> Array:
    """Llama 3's: slow planes are slowed further, fast ones are not, with a ramp in between."""
    low, high = inner.number("low_freq_factor"), inner.number("high_freq_factor")
    if high <= low:
        raise InputError(
            f"the setting {inner.inside}high_freq_factor of the model must be larger than "
            f"low_freq_factor, {low:g}, got {high:g}"
        )
    whole = trained * turns / (2 * math.pi)
    ramp = np.clip((whole - low) / (high - low), 0.0, 1.0)
    slowed: Array = turns * (ramp + (1 - ramp) / inner.number("factor"))
    return slowed


def _yarn(turns: Array, base: float, inner: ModelSettings, trained: int) -> tuple[Array, float]:
    """YaRN's frequencies and factor (arXiv:2309.00071): as Llama 3's, with a ramp over planes."""
    p, factor = len(turns), inner.number("factor")
    if base <= 1:
        raise InputError(f"the setting rope_theta of the model must be > 1 for YaRN, got {base:g}")

    def plane(rotations: float) -> float:
        """The plane with this number of turns within the length of a training text."""
        return p * math.log(trained / (rotations * 2 * math.pi)) / math.log(base)

    fast, slow = inner.number("beta_fast", 32.0), inner.number("beta_slow", 1.0)
    first, last = plane(fast), plane(slow)
    if inner.flag("truncate", True):
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, 2 * p - 1)
    width = last - first or 0.001
    ramp = np.clip((np.arange(p) - first) / width, 0.0, 1.0)
    slowed: Array = turns * (1 - ramp + ramp / factor)
    parts = [inner.value(name) for name in ("mscale", "mscale_all_dim")]
    if all(parts):
        own, every = (inner.number(name) for name in ("mscale", "mscale_all_dim"))
        usual = _length_factor(factor, own) / _length_factor(factor, every)
    else:
        usual = _length_factor(factor)
    return slowed, inner.number("attention_factor", usual)


def _length_factor(factor: float, share: float = 1.0) -> float:
    return 1.0 if factor <= 1 else 0.1 * share * math.log(factor) + 1.0
