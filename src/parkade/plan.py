"""Which integrator for which run, and in which frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from parkade.attention import Attention
from parkade.check import available_memory
from parkade.frame import Frame, long_run_frame, rest_frame

Method: TypeAlias = Literal["auto", "explicit", "implicit"]

SHORT = 300.0
"""Up to about this t_end·|V| an explicit run is cheaper; benchmarks/life.py measures it."""

WHOLE = 400
"""Largest n·(d−1) for which full attention is integrated implicitly."""


@dataclass(frozen=True)
class Plan:
    """An integrator, the reason for it, and the frame to compute in."""

    method: Literal["explicit", "implicit"]
    reason: str
    frame: Frame


def choose(model: Attention, n: int, t_end: float, method: Method, *, frozen: bool) -> Plan:
    """Plan a run of n tokens to t_end; `method` may already say how."""
    if method == "explicit":
        return Plan("explicit", "asked for", rest_frame(model))
    frame = long_run_frame(model, frozen=frozen)
    if method == "implicit":
        return Plan("implicit", "asked for", frame)
    # Explicit steps are bound by the fastest relaxation, about |V|; implicit ones are not,
    # but each costs more, the more so the larger d.
    horizon = t_end * float(np.linalg.norm(model.V, 2))
    if horizon <= SHORT * (1 + model.d / 16):
        return Plan("explicit", "short run: explicit steps are cheaper", rest_frame(model))
    if frame.rotates:
        reason = "tokens turn for ever, in a way no moving frame removes"
        return Plan("explicit", reason, rest_frame(model))
    if model.mask == "full":
        if n * (model.d - 1) <= WHOLE:
            return Plan("implicit", "long run, and small enough to couple all tokens", frame)
        reason = f"full attention couples all tokens, and n·(d−1) > {WHOLE}"
        return Plan("explicit", reason, rest_frame(model))
    if 4.0 * n * n > 0.5 * available_memory():
        return Plan("explicit", "too many tokens to store their weights", rest_frame(model))
    turning = ", in a frame that turns with the tokens" if frame.spin.any() else ""
    return Plan("implicit", "long causal run" + turning, frame)
