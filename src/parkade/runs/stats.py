"""`Stats`: the cost of a run and how it was computed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Stats:
    """The cost of a run and how it was computed.

    Attributes
    ----------
    method, reason : str
        The integrator, and why it was chosen.
    engine : str
        How the sums were computed.
    tol : float
    steps, rejected : int
        Numbers of accepted and rejected steps.
    evaluations : int
        Evaluations of the velocity of the whole system; with noise, an upper bound.
    seconds : float
    sums, sums_reason : str
        "direct" or "harmonic", and why this was chosen.
    stopped : str
        Why the run ended early; empty if it did not.
    code : str
        Versions of Numba and LLVM, and the processor: they may change the last bits.
    rested : int
        Number of tokens at rest at the end of the run: they follow others so closely that they
        were left out of the steps.
    first_rest : float or None
        The time when the first token came to rest; None if none did.
    woken : int
        How often a token at rest had to move again.
    saved : float
        The share of all steps of single tokens that were left out.
    seed : int or None
        The seed of the noise, if the model has any; the same seed repeats the run.

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
    rested: int = 0
    first_rest: float | None = None
    woken: int = 0
    saved: float = 0.0
    seed: int | None = None
