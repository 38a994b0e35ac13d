"""The rules by which runs of one head are planned, and their reasons, on plain numbers.

Pages compile these functions, too, so they call nothing but `math`.
"""

from __future__ import annotations

import math
from typing import Literal

SHORT = 300.0
"""Up to about this t_end·|V| an explicit run is cheaper, whatever the model."""

WHOLE = 400
"""The largest n·(d−1) for an implicit step that couples all tokens."""

# What runs cost, for models whose fastest relaxation is |V|; measured by benchmarks/life.py.
_BENDS = 35.0  # explicit steps per dimension that errors limit, while clusters form and merge
_SHARP = 9.0  # β below which there are fewer of them, because there are fewer clusters
_RELAXING = 0.31  # explicit steps per relaxation time, which stability limits
_MORE_BENDS = 2.3  # implicit steps for one of those that errors limit

STEP_RATIO = 2.8
"""The cost of an implicit step, of an explicit one."""

ELIMINATION_SECONDS = 5e-10
"""The cost of solving for N unknowns at once, per N³."""

_STEP_SECONDS = 4e-6  # of an explicit step of few tokens
_STAGES = 6
_CELL_SECONDS = 1e-7  # of one coordinate of a token in a cell of noise

# The error allowed in a mean computed with harmonic sums: a fraction of tol, within limits.
_PER_TOL = 1e-5  # far below the error of a step: errors of sums add up over time
_COARSEST = 1e-10  # for any tol: a few more harmonics cost little
_FINEST = 1e-14  # about the limit of float64

BRIEF, CHEAPER, ROTATING, COUPLED, TOO_COUPLED, CAUSAL, TURNING, INSTEAD = range(8)
VERDICTS: tuple[tuple[Literal["explicit", "implicit"], str], ...] = (
    ("explicit", "short run: explicit steps are cheaper"),
    ("explicit", "explicit steps are cheaper for this time"),
    ("explicit", "tokens rotate forever, and no rotating frame removes that"),
    ("implicit", "long run, small enough to couple all tokens"),
    ("explicit", f"full attention couples all tokens, and n·(d−1) > {WHOLE}"),
    ("implicit", "long causal run"),
    ("implicit", "long causal run, in a frame that rotates with the tokens"),
    ("implicit", "explicit steps were too short"),
)
"""Integrators and reasons, by the numbers above."""


def is_short(t_end: float, rate: float, d: int) -> bool:
    """Whether explicit steps are cheaper, whatever the model.

    Their size is limited by the fastest relaxation, about |V|. Implicit steps are not, but each
    costs more, especially for large d.
    """
    return t_end * rate <= SHORT * (1 + d / 16)


def explicit_is_cheaper(
    t_end: float, rate: float, sharpness: float, n: int, d: int, causal: bool, seconds: float
) -> bool:
    """Compare estimates of the cost of both methods, for KᵀQ a multiple of I and V that attracts.

    Explicit steps resolve the formation of clusters, and then the relaxation of tokens in them;
    implicit steps only the former. Direct sums over all pairs take `seconds`.
    """
    sharp = min(1.0, sharpness / _SHARP)
    bends = _BENDS * d * sharp * max(0.5, 1 + 0.1 * math.log(n / 200))
    explicit = bends + _RELAXING * t_end * rate
    ratio = STEP_RATIO
    if not causal:
        ratio += ELIMINATION_SECONDS * (n * (d - 1.0)) ** 3 / (6 * seconds)
    return explicit < ratio * _MORE_BENDS * bends


def step_seconds(velocity: float, implicit: bool, coupled: int, noisy: int) -> float:
    """About the time of a step on one core, where a velocity takes `velocity` seconds.

    Implicit steps solve for `coupled` unknowns at once. With noise, `noisy` coordinates of tokens
    are drawn, counting each cell of a step.
    """
    seconds = _STEP_SECONDS + _STAGES * velocity
    if implicit:
        seconds = seconds * STEP_RATIO + ELIMINATION_SECONDS * float(coupled) ** 3
    return seconds + _CELL_SECONDS * noisy


def long_run(rotates: bool, turns: bool, causal: bool, small: bool) -> int:
    """The verdict on a long run, in a frame in which tokens rotate, or that turns with them."""
    if rotates:
        return ROTATING
    if not causal:
        return COUPLED if small else TOO_COUPLED
    return TURNING if turns else CAUSAL


def allowed_error(tol: float) -> float:
    """The error that harmonic sums may have in a mean."""
    return min(_COARSEST, max(_FINEST, _PER_TOL * tol))


def too_fine(tol: float) -> bool:
    """Whether a tolerance needs more accuracy than harmonic sums have."""
    return _PER_TOL * tol < _FINEST


def allowed_tail(accuracy: float, rounding: float, weights: float) -> float:
    """What harmonic series may omit: half of the error, for tokens that weigh so much together.

    No less than a quarter of the rounding: a token with more than accuracy/rounding others is
    summed directly.
    """
    return max(accuracy / (2 * weights), rounding / 4)
