"""How a run ends: where it was expected, at rest elsewhere, or not at rest at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from parkade.analysis.ending import WITHIN, distance, rests, return_rate
from parkade.base.types import Array
from parkade.model.attention import Attention
from parkade.solve.simulate import simulate

TOL = 1e-8
"""Error of a step: small enough for hundreds of steps to end within `WITHIN`."""

EARLY = (1e3, 1.5e3, 2e3, 2.5e3, 3e3)
FAST = 1e-3
"""A token this fast at all times in `EARLY` has crossed the sphere and does not settle."""

EndKind = Literal["reached", "stable elsewhere", "moving", "unfinished"]


@dataclass(frozen=True)
class RunEnd:
    """The end of a run.

    Attributes
    ----------
    kind : str
        "reached": all tokens are at predicted points. "stable elsewhere": some are not, and
        the configuration is a stable equilibrium. "moving": some still move fast, as on a
        cycle. "unfinished": none of these; the run was too short to tell.
    off : float
        Largest distance of a token from the predicted points.
    rate : float
        Slowest exponential rate at which a token returns; 0 where it was not computed.
    tokens : (n, d) array
    path : tuple of (T,) arrays
        Times, and the largest distance of a token from the predicted points at each.
    """

    kind: EndKind
    off: float
    rate: float
    tokens: Array
    path: tuple[Array, Array]


def follow(model: Attention, start: Array, points: Array, t_end: float) -> RunEnd:
    """Run until `t_end`, or to the end of `EARLY` if the tokens keep moving; see how it ends."""
    times = np.geomspace(1, t_end, 100)
    until = EARLY[-1]
    first = simulate(
        model, start, until, times=[*times[times < EARLY[0]], *EARLY], tol=TOL, method="implicit"
    )
    late = first.tokens[-len(EARLY) :]
    speeds = [float(np.linalg.norm(model.velocity(x), axis=1).max()) for x in late]
    if min(speeds) > FAST:
        seen = np.array([distance(x, points) for x in late])
        return RunEnd("moving", float(seen[-1]), 0.0, first.final, (np.array(EARLY), seen))
    later = times[times > until]
    run = simulate(
        model, first.final, t_end - until, times=later - until, tol=TOL, method="implicit"
    )
    path = (
        np.concatenate([first.times, later]),
        np.array([distance(x, points) for x in [*first.tokens, *run.tokens]]),
    )
    off = float(path[1][-1])
    if off <= WITHIN:
        return RunEnd("reached", off, 0.0, run.final, path)
    kind: EndKind = "stable elsewhere" if rests(model, run.final) else "unfinished"
    return RunEnd(kind, off, return_rate(model, run.final), run.final, path)


def orthonormal(d: int, rng: np.random.Generator) -> Array:
    """A uniformly distributed orthonormal basis, in columns."""
    q, r = np.linalg.qr(rng.standard_normal((d, d)))
    basis: Array = q * np.sign(np.diagonal(r))
    return basis


def random_attention(d: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Gaussian Q and K that keep the length of a vector on average."""
    Q, K = rng.standard_normal((2, d, d)) / np.sqrt(d)
    return Q, K
