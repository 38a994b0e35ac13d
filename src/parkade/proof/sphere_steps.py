"""Steps in which all tokens of a sphere are followed, for the checker to decide about."""

from __future__ import annotations

from typing import Any

import numpy as np

from parkade.base.types import Array
from parkade.proof.check.balls import RefusedError
from parkade.proof.check.sphere_gathering import SphereGathering
from parkade.proof.sphere_taylor import polynomials

BITS = 50
"""Coefficients of polynomials are multiples of 2^-BITS."""

_DEGREE = 13
_ERROR = 1e-14  # the last term of a polynomial
_BEND = 0.25  # the largest change of an exponent β⟨x, y⟩ within a step
_BLUR, _BRIEF = 1e-3, 0.2  # with errors above the first, steps are as short as the second
_TRIALS = ((1.0, 1.5), (1.0, 4.0), (1.0, 32.0), (0.2, 1.5), (0.2, 4.0), (0.03, 1.2), (0.03, 4.0))
"""How long steps are that are tried, and how much wider tubes are than errors."""

_THIN = 2.0**-24  # errors that are taken for this
_LONGEST, _SHORTEST = 2.0**20, 2.0**-20  # steps of the gathering
_CLOSE = 1e-4  # the largest distance of a token from its leader when the gathering ends


def advance(gathering: SphereGathering, tokens: Array, beta: float) -> tuple[dict[str, Any], Array]:
    """A step that proves something, and the tokens at its end."""
    tokens = tokens / np.linalg.norm(tokens, axis=1)[:, None]
    taylor = polynomials(tokens, beta, _DEGREE)
    speed, last = (max(float(np.abs(taylor[i]).max()), 1e-300) for i in (1, _DEGREE))
    length = min(_LONGEST, _BEND / (beta * speed), (_ERROR / last) ** (1 / _DEGREE))
    before, refused = list(gathering.errors), None
    if max(map(float, before)) > _BLUR:
        length = min(length, _BRIEF)
    for shorter, room in _TRIALS:
        part = max(np.floor(length * shorter / _SHORTEST), 1.0) * _SHORTEST
        scaled = np.rint(taylor * part ** np.arange(_DEGREE + 1)[:, None, None] * 2.0**BITS)
        errors = [room * max(float(e), _THIN) for e in before]
        step = {
            "length": float(part).hex(),
            "tubes": [(2.0 ** np.ceil(np.log2(e))).hex() for e in errors],
            "places": [
                [np.trim_zeros([int(c) for c in coordinate], "b") or [0] for coordinate in row]
                for row in np.moveaxis(scaled, 0, 2)
            ],
        }
        try:
            gathering.take(step)
        except RefusedError as error:
            gathering.errors, refused = list(before), error
        else:
            end: Array = scaled.sum(axis=0) / 2.0**BITS
            return step, end
    raise refused or RefusedError("no step is tried")


def clusters(gathering: SphereGathering, tokens: Array) -> list[list[int]] | None:
    """The clusters, if it is known who leads, and all others are close to a leader."""
    last = gathering.pieces[-1]
    if any(a == j for a, j in zip(last.alone, last.joined, strict=True)):
        return None
    leaders = np.flatnonzero(last.alone)
    gaps = np.linalg.norm(tokens[:, None] - tokens[leaders], axis=2)
    nearest = leaders[gaps.argmin(axis=1)]
    wide = gaps.min(axis=1) + np.array([float(e) for e in gathering.errors]) * (
        gaps.min(axis=1) > 0
    )
    if wide.max() > _CLOSE or (nearest > np.arange(len(tokens))).any():
        return None
    return [np.flatnonzero(nearest == u).tolist() for u in leaders]
