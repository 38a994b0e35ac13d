"""`TakenSteps`: some steps of a run, and the tokens that rest on others meanwhile."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from parkade.base.types import Array


class Resting(NamedTuple):
    """Tokens that rest on others while the rest of them moves."""

    moving: NDArray[np.int64]  # (m,): the tokens that move, in their order
    rows: NDArray[np.int64]  # (n,): the row of each token, or of that on which it rests
    longer: Array  # (n,): the length of a token, less that of the token on which it rests


class RestRecord(NamedTuple):
    """How tokens have rested so far."""

    rested: int = 0  # tokens that rest now
    first: float | None = None  # when the first token came to rest
    woken: int = 0  # tokens that had to move again
    skipped: int = 0  # steps of single tokens that were left out

    def then(self, later: RestRecord, start: float) -> RestRecord:
        """The record of this model and a later one, whose time began at `start`."""
        first = None if later.first is None else start + later.first
        return RestRecord(
            later.rested,
            first if self.first is None else self.first,
            self.woken + later.woken,
            self.skipped + later.skipped,
        )


class TakenSteps(NamedTuple):
    """Steps one after the other; if tokens rest, only of the m tokens that move."""

    times: Array  # (s,): when they end
    tokens: Array  # (s, m, columns): states at their ends
    dense: Array  # (s, p, m, columns): dense output
    resting: Resting | None = None

    @classmethod
    def at_start(cls, x0: Array) -> TakenSteps:
        """A step of no length, which ends at t = 0 where tokens begin."""
        return cls(np.zeros(1), x0[None], np.empty((1, 0, *x0.shape)))

    def until(self, count: int) -> TakenSteps:
        """The first steps, `count` of them."""
        return self._replace(
            times=self.times[:count], tokens=self.tokens[:count], dense=self.dense[:count]
        )

    def only(self, i: int) -> TakenSteps:
        """Only step number i of these."""
        part = slice(i, i + 1)
        return self._replace(
            times=self.times[part], tokens=self.tokens[part], dense=self.dense[part]
        )

    def without_dense(self) -> TakenSteps:
        """The steps without dense output."""
        return self._replace(dense=np.empty((len(self.times), 0, *self.tokens.shape[1:])))

    def copied(self) -> TakenSteps:
        """The steps in memory of their own."""
        return self._replace(
            times=self.times.copy(), tokens=_owned(self.tokens), dense=_owned(self.dense)
        )

    def of_all(self, d: int) -> TakenSteps:
        """The steps of all n tokens in dimension d."""
        if self.resting is None:
            return self
        n = len(self.resting.rows)
        count, slopes, _, columns = self.dense.shape
        whole = np.empty((count, n, columns)), np.empty((count, slopes, n, columns))
        self.write(d, *whole)
        return TakenSteps(self.times, *whole)

    def write(self, d: int, tokens: Array, dense: Array) -> None:
        """Write the states and the dense output of all n tokens in dimension d to these arrays."""
        if self.resting is None:
            tokens[:], dense[:] = self.tokens, self.dense
            return
        _, rows, longer = self.resting
        np.take(self.tokens, rows, axis=1, out=tokens, mode="clip")
        np.take(self.dense, rows, axis=2, out=dense, mode="clip")
        if tokens.shape[-1] > d:
            from parkade.engine.rest.measures import lengthen

            lengthen(tokens, dense, longer)

    def state(self, i: int, d: int) -> Array:
        """The state of all n tokens at the end of step i."""
        whole: Array = self.only(i % len(self.times)).without_dense().of_all(d).tokens[0]
        return whole


def _owned(array: Array) -> Array:
    return array if array.base is None else array.copy()
