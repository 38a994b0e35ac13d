"""Tokens of which many rest exactly on earlier ones, as all of them and as those that move."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from parkade.engine.jacobian.linearization import padded
from parkade.solve.compiled.resting import Rest


class Crowd:
    """A model of the tokens that move, by definition: each other one is where its leader is.

    `leader` has the leader of each token, and for a token that moves the token itself.
    """

    def __init__(self, model, leader):
        self.model, self.leader, self.d = model, np.asarray(leader), model.d
        self.moving = np.flatnonzero(self.leader == np.arange(len(leader)))
        self.rows = np.searchsorted(self.moving, self.leader)

    def velocity(self, x, *held):
        return self.model.velocity(x[self.rows], *held)[self.moving]

    def change(self, state, t=0.0):
        return self.model.change(state[self.rows], t=t)[self.moving]

    def followers(self):
        """The rows that others rest on, and how many of those are before each moving token."""
        resting = np.setdiff1d(np.arange(len(self.leader)), self.moving)
        rows = np.unique(self.rows[resting])
        counts = np.zeros((len(rows), padded(len(self.moving))))
        for i, j in enumerate(rows):
            counts[i, : len(self.moving)] = [
                (resting[self.rows[resting] == j] < k).sum() for k in self.moving
            ]
        return rows, counts

    def reduced(self, system):
        """The same system for the tokens that move."""
        rows, counts = self.followers()
        return system._replace(leaders=rows, followers=counts)


def random_leaders(n, moving, leading, seed=0):
    """Leaders of n tokens, of which `moving` move, and `leading` of those have followers.

    The first token moves, and leads. Tokens rest on earlier ones only.
    """
    rng = np.random.default_rng(seed)
    leader = np.arange(n)
    leads = np.concatenate([[0], 1 + rng.permutation(moving // 2)[: leading - 1]])
    rests = moving // 2 + 1 + rng.permutation(n - moving // 2 - 1)[: n - moving]
    leader[rests] = rng.choice(leads, len(rests))
    return leader


class At:
    """A model that puts tokens at a distance from their leaders, whatever these are."""

    def __init__(self, lag):
        self.lag = lag

    def measure(self, state, x, leader):
        state.lag[:] = self.lag
        return True


def resting(leader, lag=0.0):
    """A `Rest` in which each token has this leader, and all are at the first axis; tol is 1.

    `lag` is how far tokens are from their leaders.
    """
    leader, n = np.asarray(leader), len(leader)
    x = np.tile([1.0, 0.0], (n, 1))
    work = SimpleNamespace(growth=np.zeros(n), place=x.copy(), watch=np.zeros((n, 7)))
    rest = Rest(x, work, 1.0, 1.0, At(lag))
    rest.state.leader[:], rest.state.rests[:] = leader, leader != np.arange(n)
    rest.rearrange(x, work)
    return rest
