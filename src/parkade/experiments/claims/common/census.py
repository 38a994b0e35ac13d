"""What the centres of a run did: how far they moved, and the tokens that they consumed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parkade.analysis.centers import KINDS, consumption_radius
from parkade.analysis.clusters import consumption
from parkade.base.types import Array
from parkade.model import sphere
from parkade.runs.trajectory import Trajectory
from parkade.theory import paper
from parkade.theory.paper import DELTA

_, N, BETA, END = paper.FIGURE_2

RADIUS = consumption_radius(BETA)
"""A token this close to a centre is consumed."""

TIMES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 5, 7, *range(10, 151, 5)], dtype=np.float64)


class Census(NamedTuple):
    """Tokens consumed by the centres of one run, and the moves of the centres."""

    shares: Array  # consumed by Rényi centres, by strong ones and by a control, over time
    strong: Array  # how far strong centres have moved, without the first token, which never moves
    weak: Array  # how far the other Rényi centres have moved

    @property
    def both(self) -> bool:
        """Whether there are centres of both kinds to compare."""
        return self.strong.size > 0 and self.weak.size > 0


def look(run: Trajectory, rng: np.random.Generator) -> Census:
    """Measure what the centres of a run did.

    Strong centres are Rényi centres, so Rényi centres never consume less. A control tells
    whether they consume more than their number alone explains: the strong centres and, in
    place of the other Rényi centres, as many random tokens.
    """
    start = run.tokens[0]
    renyi, strong = (find(start, DELTA) for find in KINDS.values())
    weak = np.setdiff1d(renyi, strong)
    rest = np.setdiff1d(np.arange(N), renyi)
    control = np.append(strong, rng.choice(rest, len(weak), replace=False))
    shares = np.array([consumption(run, who, RADIUS) for who in (renyi, strong, control)])
    moved = sphere.distance(run.final, start)
    return Census(shares, moved[strong[1:]], moved[weak])
