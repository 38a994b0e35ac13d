"""Which integrator for which run, in which frame, with which sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from parkade.base.check import available_memory
from parkade.base.types import Array
from parkade.model.attention import Attention
from parkade.solve.frame import Frame, long_run_frame, rest_frame
from parkade.solve.sums import Sums, SumsOption
from parkade.solve.sums import choose as choose_sums

Method: TypeAlias = Literal["auto", "explicit", "implicit"]

SHORT = 300.0
"""Up to about this t_end·|V| an explicit run is cheaper; benchmarks/life.py measures it."""

WHOLE = 400
"""Largest n·(d−1) for which full attention is integrated implicitly."""


@dataclass(frozen=True)
class Plan:
    """An integrator, the frame to compute in, the sums, and the reasons for them."""

    method: Literal["explicit", "implicit"]
    reason: str
    frame: Frame
    sums: Sums


def choose(
    model: Attention,
    n: int,
    t_end: float,
    tol: float,
    *,
    frozen_weights: Sequence[float] | Array = (),
    method: Method = "auto",
    sums: SumsOption = "auto",
) -> Plan:
    """Plan a run of n tokens, and maybe frozen ones, to t_end; options may already say how."""
    summing = choose_sums(model, n, tol, sums, frozen_weights)
    held, stores = len(frozen_weights) > 0, summing.name == "direct"
    integrator, reason, frame = _integrator(model, n, t_end, method, frozen=held, stores=stores)
    cancels = integrator == "implicit" and not frame.attracts
    if integrator == "implicit" and model.mask == "full":
        summing = choose_sums(model, n, tol, sums, frozen_weights, whole=True)
    elif cancels and not stores and sums == "auto" and _can_store(n):
        direct = choose_sums(model, n, tol, "direct", frozen_weights)
        summing = replace(direct, reason="V does not attract: large forces cancel in the end")
    return Plan(integrator, reason, frame, summing)


def _integrator(
    model: Attention, n: int, t_end: float, method: Method, *, frozen: bool, stores: bool
) -> tuple[Literal["explicit", "implicit"], str, Frame]:
    """The integrator, why, and the frame; `stores` if implicit runs keep all weights."""
    if method == "explicit":
        return "explicit", "asked for", rest_frame(model)
    # Explicit steps are bound by the fastest relaxation, about |V|; implicit ones are not,
    # but each costs more, the more so the larger d.
    horizon = t_end * float(np.linalg.norm(model.V, 2))
    if method == "auto" and horizon <= SHORT * (1 + model.d / 16):
        return "explicit", "short run: explicit steps are cheaper", rest_frame(model)
    frame = long_run_frame(model, frozen=frozen)
    if method == "implicit":
        return "implicit", "asked for", frame
    if frame.rotates:
        reason = "tokens turn for ever, in a way no moving frame removes"
        return "explicit", reason, rest_frame(model)
    if model.mask == "full":
        if n * (model.d - 1) <= WHOLE:
            return "implicit", "long run, and small enough to couple all tokens", frame
        reason = f"full attention couples all tokens, and n·(d−1) > {WHOLE}"
        return "explicit", reason, rest_frame(model)
    if stores and not _can_store(n):
        return "explicit", "too many tokens to store their weights", rest_frame(model)
    turning = ", in a frame that turns with the tokens" if frame.spin.any() else ""
    return "implicit", "long causal run" + turning, frame


def _can_store(n: int) -> bool:
    """Whether all weights of n tokens fit in memory."""
    return 4.0 * n * n <= 0.5 * available_memory()
