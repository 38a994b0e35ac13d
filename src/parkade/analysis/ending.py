"""How a run ends: near predicted points, at rest elsewhere, or as a cloud."""

from __future__ import annotations

import math

import numpy as np

from parkade.analysis.clusters import cluster_labels
from parkade.base.types import Array
from parkade.model import sphere
from parkade.model.model import Model
from parkade.theory import FinalConfiguration

WITHIN = 1e-6
"""A token this close to a predicted point has reached it."""

FIRM = 1e-4
"""A token that returns at this rate or faster rests for ever, not just for long."""

AT = 1e-3
"""Tokens this close to a predicted point are at it, for a table."""

DISTINCT = 3 / 4
"""The least share of the tokens of a cloud that are points of their own."""

SIDE = 1 / 32
"""The least share of the tokens of two clouds on each side."""

APART = 1e-3
"""Tokens farther than this from all others are points of their own."""

UNIFORM = {2: math.pi / 2 - 1, 1: 1.0}
"""Mean angle of uniform tokens on S² from a plane and from a line, in radians."""


def distinct_share(tokens: Array) -> float:
    """The share of tokens that are points of their own."""
    return len(np.unique(cluster_labels(tokens, APART))) / len(tokens)


def smaller_side(tokens: Array, basis: Array) -> float:
    """The share of tokens on the side of L^⊥ that has fewer, for a line L."""
    share = float((tokens @ basis[:, 0] > 0).mean())
    return min(share, 1 - share)


def distance(tokens: Array, points: Array) -> float:
    """The largest distance of a token from the nearest of the points."""
    return float(np.min([sphere.distance(tokens, p) for p in points], axis=0).max())


def rests(model: Model, tokens: Array) -> bool:
    """Whether a stable equilibrium is so close that the tokens will not leave it."""
    rate = return_rate(model, tokens)
    # Speed over rate is about how far the equilibrium is.
    return rate > FIRM and float(np.abs(model.velocity(tokens)).max()) < 1e-3 * WITHIN * rate


def return_rate(model: Model, tokens: Array, step: float = 1e-6) -> float:
    """The slowest rate at which a token, slightly pushed, returns; negative if one does not.

    Nobody feels later tokens, so the Jacobian is block triangular and its eigenvalues are
    those of the blocks ∂(dx_k/dt)/∂x_k. The first token is left out: where it rests is
    Lemma 3.1. If the rate is positive, the others follow it, and rest for ever.
    """
    n, d = tokens.shape
    slowest = np.inf
    for k in range(1, n):
        basis = np.linalg.svd(tokens[k : k + 1])[2][1:]  # of the tangent space
        pushed = np.repeat(tokens[None, : k + 1], 2 * (d - 1), axis=0)
        pushed[:, k] = sphere.normalize(tokens[k] + step * np.vstack([basis, -basis]))
        velocity = model.velocity(pushed)[:, k] @ basis.T
        block = (velocity[: d - 1] - velocity[d - 1 :]).T / (2 * step)
        slowest = min(slowest, -float(np.linalg.eigvals(block).real.max()))
    return slowest


def as_predicted(final: FinalConfiguration, start: Array, end: Array) -> bool:
    """Whether tokens are where the spectrum of V says; `clouds` says what a cloud is."""
    if final.kind in ("one point", "two points"):
        return distance(end, final.limit(start[0])) < AT
    near = final.angles(end).mean() < UNIFORM[final.dim]
    sides = final.dim > 1 or smaller_side(end, final.basis) >= SIDE
    return bool(near and sides and distinct_share(end) >= DISTINCT)
