"""`Stats`: the cost of a run and how it was computed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Stats:
    """The cost of a run and how it was computed."""

    method: str  # the integrator
    reason: str  # why this integrator
    engine: str  # how the sums were computed
    tol: float
    steps: int  # accepted
    rejected: int
    evaluations: int  # velocities of the whole system; with noise, at most
    seconds: float
    sums: str = "direct"  # or "harmonic"
    sums_reason: str = ""  # why these sums
    stopped: str = ""  # why the run ended early; empty if it did not
    code: str = ""  # what made the machine code, which may change the last bits
    seed: int | None = None  # of the noise, if the model has any: it repeats the run
