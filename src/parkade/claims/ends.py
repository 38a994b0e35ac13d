"""How a run ends: where it was expected, at rest elsewhere, or not at rest at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from parkade import sphere
from parkade.attention import Attention
from parkade.flow import simulate
from parkade.types import Array

TOL = 1e-8
"""Error of a step: small enough for hundreds of steps to end within `WITHIN`."""

WITHIN = 1e-6
"""A token this close to a predicted point has reached it."""

FIRM = 1e-4
"""A token that returns at this rate or faster rests for ever, not just for long."""

EARLY = (1e3, 1.5e3, 2e3, 2.5e3, 3e3)
FAST = 1e-3
"""Who moves this fast at all of these times has passed the sphere and is not settling."""

Kind = Literal["reached", "stable elsewhere", "moving", "unfinished"]


@dataclass(frozen=True)
class Ending:
    """The end of a run.

    Attributes
    ----------
    kind : str
        "reached": all tokens are at predicted points. "stable elsewhere": some are not, and
        the configuration is a stable equilibrium. "moving": some still move fast, as on a
        cycle. "unfinished": none of these, so that the run was too short to tell.
    off : float
        Largest distance of a token from the predicted points.
    rate : float
        Slowest exponential rate at which a token returns (0 if not asked for).
    tokens : (n, d) array
    path : tuple of (T,) arrays
        Times, and the largest distance of a token from the predicted points at each.
    """

    kind: Kind
    off: float
    rate: float
    tokens: Array
    path: tuple[Array, Array]


def follow(model: Attention, start: Array, points: Array, t_end: float) -> Ending:
    """Run until `t_end`, or `EARLY` if the tokens go on moving, and look where they are."""
    run = simulate(model, start, EARLY[-1], times=EARLY, tol=TOL, method="implicit")
    path = np.array(EARLY), np.array([distance(x, points) for x in run.tokens])
    speeds = [float(np.linalg.norm(model.velocity(x), axis=1).max()) for x in run.tokens]
    if min(speeds) > FAST:
        return Ending("moving", float(path[1][-1]), 0.0, run.final, path)
    run = simulate(
        model, start, t_end, times=np.geomspace(1, t_end, 100), tol=TOL, method="implicit"
    )
    path = run.times, np.array([distance(x, points) for x in run.tokens])
    off = float(path[1][-1])
    if off <= WITHIN:
        return Ending("reached", off, 0.0, run.final, path)
    kind: Kind = "stable elsewhere" if rests(model, run.final) else "unfinished"
    return Ending(kind, off, return_rate(model, run.final), run.final, path)


def distance(tokens: Array, points: Array) -> float:
    """The largest distance of a token from the nearest of the points."""
    return float(np.min([sphere.distance(tokens, p) for p in points], axis=0).max())


def rests(model: Attention, tokens: Array) -> bool:
    """Whether a stable equilibrium is so close that the tokens will not leave it."""
    rate = return_rate(model, tokens)
    # Speed over rate is about how far the equilibrium is.
    return rate > FIRM and float(np.abs(model.velocity(tokens)).max()) < 1e-3 * WITHIN * rate


def return_rate(model: Attention, tokens: Array, step: float = 1e-6) -> float:
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


def orthonormal(d: int, rng: np.random.Generator) -> Array:
    """A uniformly distributed orthonormal basis, in columns."""
    q, r = np.linalg.qr(rng.standard_normal((d, d)))
    basis: Array = q * np.sign(np.diagonal(r))
    return basis


def random_attention(d: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Gaussian Q and K that keep the length of a vector on average."""
    Q, K = rng.standard_normal((2, d, d)) / np.sqrt(d)
    return Q, K
