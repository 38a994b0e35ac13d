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
"""From this return rate on, a token rests permanently, not just for a long time."""

AT = 1e-3
"""A token this close to a predicted point counts as being there, in a table."""

DISTINCT = 3 / 4
"""The smallest number of distinct points in a cloud, divided by the number of tokens."""

SIDE = 1 / 32
"""The smallest share of tokens on each side of two clouds."""

APART = 1e-3
"""Tokens farther than this from all others are distinct points."""

UNIFORM = {2: math.pi / 2 - 1, 1: 1.0}
"""Mean angle of uniform tokens on S² from a plane and from a line, in radians."""


def distinct_share(tokens: Array) -> float:
    """The number of distinct points divided by the number of tokens."""
    return len(np.unique(cluster_labels(tokens, APART))) / len(tokens)


def smaller_side(tokens: Array, basis: Array) -> float:
    """The share of tokens on the side of L^⊥ with fewer tokens, for a line L."""
    share = float((tokens @ basis[:, 0] > 0).mean())
    return min(share, 1 - share)


def distance(tokens: Array, points: Array) -> float:
    """The largest distance of a token from the nearest of the points."""
    return float(np.min([sphere.distance(tokens, p) for p in points], axis=0).max())


def rests(model: Model, tokens: Array) -> bool:
    """Whether the tokens are so close to a stable equilibrium that they do not leave it."""
    rate = return_rate(model, tokens)
    # Speed divided by rate is about the distance to the equilibrium.
    return rate > FIRM and float(np.abs(model.velocity(tokens)).max()) < 1e-3 * WITHIN * rate


def return_rate(model: Model, tokens: Array, step: float = 1e-6) -> float:
    """The slowest rate at which a perturbed token returns; negative if some token does not.

    No token depends on later ones, so the Jacobian is block triangular and its eigenvalues are
    those of the blocks ∂(dx_k/dt)/∂x_k. The first token is excluded: Lemma 3.1 says where it
    rests. If the rate is positive, the others follow it and rest permanently.
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
    """Whether tokens end as the spectrum of V predicts; constants of this module define a cloud."""
    if final.kind in ("one point", "two points"):
        return distance(end, final.limit(start[0])) < AT
    near = final.angles(end).mean() < UNIFORM[final.dim]
    sides = final.dim > 1 or smaller_side(end, final.basis) >= SIDE
    return bool(near and sides and distinct_share(end) >= DISTINCT)
