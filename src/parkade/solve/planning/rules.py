"""The rules for planning runs of one head, and their reasons, as functions of plain numbers.

They are compiled for web pages, too, so they call nothing but `math`.
"""

from __future__ import annotations

import math
from typing import Literal

SHORT = 300.0
"""Up to about this value of t_end·|V| explicit steps are cheaper, whatever the model."""

GATHERING = 60.0
"""Very many tokens gather in clusters until about this t·|V|, in explicit steps.

Later their steps would be limited by relaxation.
"""

VERY_MANY = 5000
"""The least number of tokens that gather in explicit steps, which take less than half as long."""

WHOLE = 400
"""The largest n·(d−1) for an implicit step that couples all tokens."""

# The cost of runs whose fastest relaxation has the rate |V|, measured by benchmarks/life.py.
_BENDS = 35.0  # explicit steps per dimension, limited by errors, while clusters form and merge
_SHARP = 9.0  # below this β there are fewer such steps, because there are fewer clusters
_RELAXING = 0.31  # explicit steps per relaxation time, limited by stability
_MORE_BENDS = 2.3  # implicit steps per explicit step that is limited by errors

STEP_RATIO = 2.8
"""The cost of an implicit step, relative to an explicit one."""

ELIMINATION_SECONDS = 5e-10
"""The seconds to solve for N unknowns at once, divided by N³."""

_STEP_SECONDS = 4e-6  # of an explicit step of few tokens
_STAGES = 6
_CELL_SECONDS = 1e-7  # of one coordinate of a token in a cell of noise

_STORING = 1.5  # the cost of harmonic sums in an implicit step, which direct ones share by storing
_FOLLOWER_SECONDS = 1e-8  # to add the followers of one leader to the sums of a token

# The error allowed in a mean computed with harmonic sums: a fraction of tol, within limits.
_PER_TOL = 1e-5  # far below the error of a step: errors of sums add up over time
_COARSEST = 1e-10  # the largest for any tol: a few more harmonics cost little
_FINEST = 1e-14  # the smallest: about the limit of float64

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
"""The integrator and the reason of each verdict, by the numbers above."""


def is_short(t_end: float, rate: float, d: int) -> bool:
    """Whether explicit steps are cheaper, whatever the model.

    The fastest relaxation, with a rate of about |V|, limits their size. It does not limit implicit
    steps, but each of these costs more, especially for large d.
    """
    return t_end * rate <= SHORT * (1 + d / 16)


def explicit_is_cheaper(
    t_end: float, rate: float, sharpness: float, n: int, d: int, causal: bool, seconds: float
) -> bool:
    """Whether explicit steps are cheaper, by an estimate for V that attracts and KᵀQ = cI.

    Explicit steps resolve the formation of clusters, and then the relaxation of tokens in them;
    implicit steps resolve only the former. Direct sums over all pairs take `seconds`.
    """
    sharp = min(1.0, sharpness / _SHARP)
    bends = _BENDS * d * sharp * max(0.5, 1 + 0.1 * math.log(n / 200))
    explicit = bends + _RELAXING * t_end * rate
    ratio = STEP_RATIO
    if not causal:
        ratio += ELIMINATION_SECONDS * (n * (d - 1.0)) ** 3 / (6 * seconds)
    return explicit < ratio * _MORE_BENDS * bends


def step_seconds(velocity: float, implicit: bool, coupled: int, noisy: int) -> float:
    """Estimate the seconds of a step on one core, if a velocity takes `velocity` seconds.

    Implicit steps solve for `coupled` unknowns at once. Noise takes `noisy` random numbers: one for
    each coordinate of a token in each cell of a step.
    """
    seconds = _STEP_SECONDS + _STAGES * velocity
    if implicit:
        seconds = seconds * STEP_RATIO + ELIMINATION_SECONDS * float(coupled) ** 3
    return seconds + _CELL_SECONDS * noisy


def long_run(rotates: bool, turns: bool, causal: bool, small: bool) -> int:
    """The verdict on a long run; tokens rotate in its frame if `rotates`, it does if `turns`."""
    if rotates:
        return ROTATING
    if not causal:
        return COUPLED if small else TOO_COUPLED
    return TURNING if turns else CAUSAL


def allowed_error(tol: float) -> float:
    """The largest error of a mean that harmonic sums may cause."""
    return min(_COARSEST, max(_FINEST, _PER_TOL * tol))


def too_fine(tol: float) -> bool:
    """Whether a tolerance needs more accuracy than harmonic sums have."""
    return _PER_TOL * tol < _FINEST


def allowed_tail(accuracy: float, rounding: float, weights: float) -> float:
    """The largest tail that harmonic series may omit, if all tokens together weigh `weights`.

    All tails together are half of the allowed error. But no tail is below a quarter of the rounding
    error: a token with more than accuracy/rounding others is summed directly.
    """
    return max(accuracy / (2 * weights), rounding / 4)


def is_cheaper_directly(harmonic: float, direct: float, n: int, moving: int, leaders: int) -> bool:
    """Whether direct sums are cheaper than harmonic ones in implicit steps while tokens rest.

    A velocity of all n tokens takes `harmonic` seconds, and of the moving ones `direct` seconds.
    Others rest on some of these, the leaders.
    """
    resting = _FOLLOWER_SECONDS * moving * leaders
    return direct < _STORING * harmonic * moving / n + resting
