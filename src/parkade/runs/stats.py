"""`Stats`: the cost of a run and how it was computed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Stats:
    """The cost of a run and how it was computed.

    Attributes
    ----------
    method, reason : str
        The integrator, and why this one.
    engine : str
        How the sums were computed.
    tol : float
    steps, rejected : int
        Numbers of accepted and of rejected steps.
    evaluations : int
        Velocities of the whole system; with noise, at most.
    seconds : float
    sums, sums_reason : str
        "direct" or "harmonic", and why.
    stopped : str
        Why the run ended early; empty if it did not.
    code : str
        What made the machine code, which may change the last bits.
    seed : int or None
        Of the noise, if the model has any: it repeats the run.

    Examples
    --------
    >>> import parkade as pk
    >>> x0 = pk.sphere.uniform(50, 2, seed=1)
    >>> stats = pk.simulate(pk.Attention(d=2, beta=16.0), x0, 100.0).stats
    >>> stats.method, stats.reason, stats.tol
    ('explicit', 'short run: explicit steps are cheaper', 1e-06)
    """

    method: str
    reason: str
    engine: str
    tol: float
    steps: int
    rejected: int
    evaluations: int
    seconds: float
    sums: str = "direct"
    sums_reason: str = ""
    stopped: str = ""
    code: str = ""
    seed: int | None = None
