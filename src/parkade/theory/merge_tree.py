"""`MergeTree`: how the clusters of a run merge, as data and as text."""

from __future__ import annotations

import itertools
import json
import math
import textwrap
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parkade.base import check
from parkade.base.errors import InputError
from parkade.base.newick import newick
from parkade.base.numbers import finite
from parkade.base.tables import record_table
from parkade.base.types import Array


@dataclass(frozen=True, slots=True)
class Merge:
    """A merge of two clusters: one of them joins the other.

    Examples
    --------
    >>> import parkade as pk
    >>> run = pk.simulate(pk.Attention(d=2, beta=9.0), pk.sphere.from_angles([0.0, 1.0]), 1e6)
    >>> merge = run.merge_tree().events[0]
    >>> merge.absorbed, merge.into, merge.size, round(merge.time, 1)
    (1, 0, 1, 18.7)
    """

    time: float
    absorbed: int
    """The leader of the cluster that joins the other."""
    into: int
    """The leader of the other cluster."""
    size: int
    """The number of tokens that join, including the leader."""


@dataclass(frozen=True)
class Plateau:
    """A metastable state: the number of clusters stays the same for a long time.

    Examples
    --------
    >>> import parkade as pk
    >>> run = pk.simulate(pk.Attention(d=2, beta=9.0), pk.sphere.from_angles([0.0, 2.0]), 1e6)
    >>> state = run.merge_tree().plateaus[0]
    >>> state.clusters, state.leaders, f"{state.lifetime:.3g}", state.open
    (2, (0, 1), '4.27e+04', False)
    """

    clusters: int
    start: float
    end: float
    leaders: tuple[int, ...]
    """The earliest token of each cluster."""
    open: bool
    """Whether the run ended before the state did; `end` and `lifetime` are then lower bounds."""

    @property
    def lifetime(self) -> float:
        """The duration of the state."""
        return self.end - self.start


@dataclass(frozen=True, eq=False)
class MergeTree:
    """Which clusters merge, and when; `parkade.clusters.merge_tree` defines the terms.

    Attributes
    ----------
    n : int
        Number of tokens.
    start, end : float
        First and last time of the run.
    radius, persistence : float
        The parameters of `merge_tree`.
    events : tuple of Merge
        In order of time. Tokens that start within the radius of an earlier one join it at
        `start`.
    trusted_until : float
        The time after which rounding errors dominate the run; infinite if they never do.
    times : tuple of float or None
        The saved times of a run without dense output, between which nothing is known.
    forming : float
        The time in which clusters form; no plateau is counted before it.
    doubts : tuple of str
        Reasons why a forecast may be wrong, each a sentence.

    Examples
    --------
    >>> import parkade as pk
    >>> x0 = pk.sphere.uniform(40, 2, seed=3)
    >>> tree = pk.simulate(pk.Attention(d=2, beta=16.0), x0, 1e20).merge_tree()
    >>> tree
    MergeTree(40 tokens, 39 merges within 0.025, plateaus of [4, 3, 2, 1] clusters, t=0…1e+20)
    >>> tree.count([100.0, 1e9]).tolist(), tree.leaders(1e9).tolist()
    ([4, 2], [0, 4])
    """

    n: int
    start: float
    end: float
    radius: float
    persistence: float
    events: tuple[Merge, ...]
    trusted_until: float = math.inf
    times: tuple[float, ...] | None = None
    forming: float = 10.0
    doubts: tuple[str, ...] = ()

    def __repr__(self) -> str:
        plateaus = ", ".join(str(p.clusters) for p in self.plateaus)
        return (
            f"MergeTree({self.n} tokens, {len(self.events)} merges within {self.radius:.3g}, "
            f"plateaus of [{plateaus}] clusters, t={self.start:g}…{self.end:g})"
        )

    @cached_property
    def arrivals(self) -> Array:
        """When each token arrives at an earlier one, (n,); infinite if it never does."""
        times = np.full(self.n, np.inf)
        for event in self.events:
            times[event.absorbed] = event.time
        times.flags.writeable = False
        return times

    @overload
    def count(self, t: float) -> int: ...
    @overload
    def count(self, t: ArrayLike) -> NDArray[np.int64]: ...
    def count(self, t: ArrayLike) -> int | NDArray[np.int64]:
        """Number of clusters by leaders at a time or at an array of times; it never increases.

        A cluster is counted until its leader has arrived within the radius of an earlier token,
        whatever happens later. For clusters by links, at one moment, use `cluster_labels`.
        """
        when = self._inside(t)
        arrived = np.searchsorted(np.sort(self.arrivals), when, side="right")
        return self.n - arrived if when.ndim else int(self.n - arrived)

    def leaders(self, t: float) -> NDArray[np.int64]:
        """The earliest token of every cluster at time t."""
        return np.flatnonzero(self.arrivals > self._inside(t))

    def labels(self, t: float) -> NDArray[np.int64]:
        """The leader of each token's cluster at time t according to this tree, (n,).

        A token that moves from one cluster to another without ever being alone stays with the
        first one here. Use `cluster_labels` for the clusters of the current positions.
        """
        when = self._inside(t)
        into = np.arange(self.n)
        for event in self.events:
            if event.time <= when:
                into[event.absorbed] = event.into
        for token in range(self.n):
            into[token] = into[into[token]]  # earlier tokens already point to their leader
        return into

    @cached_property
    def plateaus(self) -> tuple[Plateau, ...]:
        """Metastable states: long periods with a constant number of clusters.

        A period is long if it ends at `persistence` times its start or later; a start before
        `forming` counts as `forming`. Without dense output, the last saved time in this state
        is used instead of the end.
        """
        arrived = np.unique(self.arrivals[np.isfinite(self.arrivals)])
        changes = [self.start, *arrived[arrived > self.start].tolist(), self.end]
        result = []
        for i, (begin, end) in enumerate(itertools.pairwise(changes)):
            last, until = i == len(changes) - 2, end
            if self.times is not None and not last:
                until = max(t for t in self.times if t < end)
            if until >= self.persistence * max(begin, self.forming):
                leaders = tuple(self.leaders(begin).tolist())
                result.append(Plateau(len(leaders), begin, end, leaders, open=last))
        return tuple(result)

    def to_json(self) -> str:
        """Everything as one JSON object; null means infinity."""
        data = asdict(self)
        data["trusted_until"] = finite(self.trusted_until)
        data["arrivals"] = [finite(t) for t in self.arrivals.tolist()]
        data["plateaus"] = [{**asdict(p), "lifetime": p.lifetime} for p in self.plateaus]
        return json.dumps(data, allow_nan=False)

    def to_newick(self, plateau: int | None = None) -> str:
        """The tree in Newick format, for programs that draw phylogenies.

        Parameters
        ----------
        plateau : int, optional
            Leaves are the clusters of ``plateaus[plateau]``, named by their leaders. By
            default they are all tokens.

        Returns
        -------
        str
            Branch lengths are in log10 of time, from the start of the plateau, or from the
            first merge after t=0. Clusters that are still separate at the end of the run are
            joined by a root at its end.

        Examples
        --------
        >>> from parkade import Merge, MergeTree
        >>> events = (Merge(10.0, 2, 1, 1), Merge(1e4, 1, 0, 2))
        >>> MergeTree(3, 0.0, 1e6, 0.1, 2.0, events).to_newick()
        '(0:3,(1:0,2:0):3):2;'
        """
        if plateau is None:
            leaves, first = list(range(self.n)), self.start
            events = list(self.events)
        else:
            state = self._plateau(plateau)
            leaves, first = list(state.leaders), state.start
            events = [e for e in self.events if e.time > first and e.absorbed in leaves]
        origin = first if first > 0 else min((e.time for e in events if e.time > 0), default=1.0)

        def height(t: float) -> float:
            return math.log10(max(t, origin))

        joins = ((height(e.time), e.into, e.absorbed) for e in events)
        return newick(leaves, joins, height(origin), height(self.end))

    def table(self) -> list[dict[str, str]]:
        """The plateaus as rows of text: clusters, start, end, lifetime, leaders."""
        return [
            {
                "clusters": str(p.clusters),
                "start": f"{p.start:.3g}",
                "end": "end of run" if p.open else f"{p.end:.3g}",
                "lifetime": f"{'> ' if p.open else ''}{p.lifetime:.3g}",
                "leaders": ", ".join(map(str, p.leaders)),
            }
            for p in self.plateaus
        ]

    def merge_table(self, since: float | None = None) -> list[dict[str, str]]:
        """Merges as rows of text, by default those after the start of the first plateau."""
        if since is None:
            since = self.plateaus[0].start if self.plateaus else self.start
        counts = range(self.n - 1, -1, -1)
        return [
            {
                "time": f"{e.time:.4g}",
                "cluster": str(e.absorbed),
                "of": str(e.size),
                "joins": str(e.into),
                "left": str(left),
            }
            for e, left in zip(self.events, counts, strict=False)
            if e.time > since
        ]

    def to_text(self, width: int = 80) -> str:
        """Plateaus and the merges between them, for a terminal of this many columns."""
        first = self.plateaus[0].start if self.plateaus else self.start
        parts = [
            "Metastable states (clusters by leaders, for a factor "
            f"{self.persistence:g} in time or more)",
            record_table(self.table(), width),
            "",
            f"Merges after t={first:.3g} (tokens closer than {self.radius:.3g} are merged)",
            record_table(self.merge_table(), width),
        ]
        if self.trusted_until < self.end:
            parts += ["", f"After t={self.trusted_until:.3g} rounding errors dominate."]
        parts += [textwrap.fill(f"Doubtful: {doubt}.", width) for doubt in self.doubts]
        return "\n".join(parts)

    def _inside(self, t: ArrayLike) -> Array:
        """`t` as an array, checked to be within the run."""
        when = check.array("t", t)
        if when.size and not (self.start <= when.min() and when.max() <= self.end):
            wrong = when.min() if when.min() < self.start else when.max()
            raise InputError(
                f"t={wrong:g} is outside the run, which goes from {self.start:g} to "
                f"{self.end:g}; simulate with a larger t_end"
            )
        return when

    def _plateau(self, index: int) -> Plateau:
        """A plateau by its index."""
        try:
            return self.plateaus[index]
        except (IndexError, TypeError):
            raise InputError(
                f"plateau must be an index into the {len(self.plateaus)} plateaus, got "
                f"{check.brief(index)}"
            ) from None
