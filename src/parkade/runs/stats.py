"""`Stats`: what a run cost and how it was done."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Stats:
    """What a run cost and how it was done."""

    method: str  # the integrator
    reason: str  # why this integrator
    engine: str  # how the sums were computed
    tol: float
    steps: int  # accepted
    rejected: int
    evaluations: int  # velocities of the whole system
    seconds: float
    sums: str = "direct"  # or "harmonic"
    sums_reason: str = ""  # why these sums
    stopped: str = ""  # why the run ended before its time; empty if it did not
