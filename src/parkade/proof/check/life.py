"""Lemmas 2 to 5 of a certificate: traps, drift, the clock, and edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from flint import arb, arb_series, ctx

from parkade.proof.check.balls import Piece, RefusedError, above, around, between, require, turned
from parkade.proof.check.gathering import Gathering

WIDEST = 0.25  # the widest trap
MOST = 40  # attempts to find a hull
TERMS = 6  # of Taylor's formula for the time of a passage
NARROWER = 0.03  # by how much an arc shrinks at once


class Edge(NamedTuple):
    """What pulls a token at one edge of an arc."""

    fixed: list[int]  # tokens that pull it inwards,
    side: list[arb]  # how far they are from the leader at most, towards the edge,
    other: list[arb]  # and away from it
    pull: arb  # of other clusters at most
    weight: arb  # of all tokens but the fixed ones at most, its own included


class Life:
    """Lemmas 2 to 5: leaders in intervals, and the other tokens in traps around them."""

    def __init__(self, gathering: Gathering, groups: dict[int, list[int]]) -> None:
        self.tokens, self.groups = gathering.tokens, groups
        members = sorted(k for group in groups.values() for k in group)
        require(members == list(range(self.tokens.n)), "a token is in no cluster, or in two")
        ends, errors = gathering.ends, gathering.errors
        self.place = {u: around(ends[u], errors[u]) for u in groups}
        self.low, self.high = [arb(0)] * self.tokens.n, [arb(0)] * self.tokens.n
        for u, group in groups.items():
            require(group == sorted(group) and group[0] == u, f"token {u} does not lead")
            for k in group[1:]:
                self.enclose(k, around(turned(ends[k] - ends[u]), errors[k] + errors[u]))
        self.time = gathering.time, gathering.time
        self.pieces: list[Piece] = []

    def enclose(self, k: int, gap: arb) -> None:
        """Note how far token k is from its leader at most, on both sides."""
        self.low[k], self.high[k] = (arb(0).max(arb(x)) for x in ((-gap).upper(), gap.upper()))

    def trap(self, tokens: list[int]) -> arb:
        """Where these tokens of one cluster are, from its leader."""
        return between(-max(self.low[k] for k in tokens), max(self.high[k] for k in tokens))

    def ranges(self, place: dict[int, arb]) -> list[arb]:
        """Where all tokens are, if leaders are at these places."""
        home = {k: u for u, group in self.groups.items() for k in group}
        return [place[home[k]] + self.trap([k]) for k in range(self.tokens.n)]

    def gaps(self, k: int, u: int, at: arb, place: dict[int, arb]) -> list[tuple[int, arb]]:
        """Tokens before k in other clusters than that of u: their number, and their gap from k."""
        result = []
        for v, group in self.groups.items():
            before = [j for j in group if j < k]
            if v != u and before:
                result.append((len(before), place[v] + self.trap(before) - at))
        return result

    def sums(self, gaps: list[tuple[int, Any]]) -> tuple[Any, Any]:
        """Σ h and Σ w."""
        pull, weight = arb(0), arb(0)
        for count, gap in gaps:
            w, h = self.tokens.weights(gap)
            pull, weight = pull + count * h, weight + count * w
        return pull, weight

    def speed(self, u: int, place: dict[int, arb]) -> arb:
        """F_u of a leader."""
        pull, weight = self.sums(self.gaps(u, u, place[u], place))
        speed: arb = pull / (1 + weight)
        return speed

    def inwards(self, low: arb, high: arb) -> arb:
        """A lower bound of h from `low` to `high`; h rises, then falls; h(x) ≥ x if x < 0."""
        require(high < arb.pi(), "a cluster is as wide as half of the circle")
        ends = [low if not low > 0 else self.tokens.weights(low)[1], self.tokens.weights(high)[1]]
        return arb(ends[0].min(ends[1]).lower())

    def hold(self, u: int, place: dict[int, arb], free: set[int]) -> None:
        """Lemma 2: widen the traps around u until they hold, but for those of tokens in `free`."""
        drift, group = above(self.speed(u, place)), self.groups[u]
        for i, k in enumerate(group[1:], start=1):
            for side, other, sign in ((self.low, self.high, -1), (self.high, self.low, 1)):
                while k not in free:
                    rim = side[k]
                    pull, weight = self.sums(self.gaps(k, u, place[u] + sign * rim, place))
                    inside = [self.inwards(rim - side[j], rim + other[j]) for j in group[:i]]
                    if sum(inside, -above(pull)) > drift * (1 + i + above(weight)):
                        break
                    side[k] = above(rim * 1.2 + 2 * drift + arb(2) ** -60)
                    require(side[k] < WIDEST, f"token {k} may leave the cluster of {u}")

    def meanwhile(
        self, longest: Callable[[dict[int, arb]], arb], fixed: dict[int, arb], free: set[int]
    ) -> dict[int, arb]:
        """Lemma 3: where leaders are for a time, which depends on that; traps hold there."""
        hull = self.place | fixed
        for _ in range(MOST):
            before = [*self.low, *self.high]
            for u in self.groups:
                self.hold(u, hull, free)
            wait = between(0, longest(hull))
            reached = {u: self.place[u].union(self.place[u] + self.speed(u, hull) * wait)
                       for u in self.groups if u not in fixed}  # fmt: skip
            inside = all(hull[u].contains(ball) for u, ball in reached.items())
            traps = zip([*self.low, *self.high], before, strict=True)
            if inside and all(now == then for now, then in traps):
                return hull
            for u, ball in reached.items():
                if not hull[u].contains(ball):
                    hull[u] = around(ball, ball.rad() / 8 + arb(2) ** -70)
        raise RefusedError("leaders move too far in a step")

    def wait(self, hull: dict[int, arb], least: arb, most: arb, fixed: dict[int, arb]) -> None:
        """Let a time between `least` and `most` pass, and note who leads meanwhile."""
        start = self.time[1]
        spent = between(least.lower(), most.upper())
        moved = {u: self.place[u] + self.speed(u, hull) * spent for u in self.groups}
        self.place = moved | fixed
        self.time = arb((self.time[0] + least).lower()), arb((self.time[1] + most).upper())
        self.note(start, self.time[0], hull)

    def note(self, start: arb, end: arb, hull: dict[int, arb]) -> None:
        """Note what is known of all tokens from `start` to `end`, with leaders at these places."""
        alone, joined = [False] * self.tokens.n, [False] * self.tokens.n
        for u, group in self.groups.items():
            gaps = self.gaps(u, u, hull[u], hull)
            alone[u] = all(gap.cos() < self.tokens.rim for _, gap in gaps)
            for k in group[1:]:
                joined[k] = bool(self.low[k].max(self.high[k]) < self.tokens.radius)
        self.pieces.append(Piece(start, end, alone, joined, self.ranges(hull)))

    def clock(self, s: int, target: arb) -> None:
        """Lemma 4: leader s moves to a place."""
        here, span = self.place[s], self.place[s].union(target)
        ahead = target - here
        require(ahead > 0 or ahead < 0, f"leader {s} does not move on")
        sign = 1 if ahead > 0 else -1

        def longest(hull: dict[int, arb]) -> arb:
            pace = sign * self.speed(s, hull)
            require(pace > 0, f"leader {s} may turn around")
            return above(ahead) / arb(pace.lower())

        hull = self.meanwhile(longest, {s: span}, set())
        least = arb(ahead.abs_lower()) / above(self.speed(s, hull))
        most = longest(hull)
        if here.is_exact():
            taken = self._passage(s, hull, (here + target) / 2, abs(ahead) / 2)
            least, most = least.max(arb(taken.lower())), most.min(arb(taken.upper()))
        self.wait(hull, least, most, {s: target})

    def _passage(self, s: int, hull: dict[int, arb], middle: arb, half: arb) -> arb:
        """∫ dx / |F_s| over a short way, by Taylor's formula at its middle for whole hulls."""
        ctx.cap = TERMS + 1
        pull, weight = self.sums(
            [(m, arb_series([gap, -1])) for m, gap in self.gaps(s, s, middle, hull)]
        )
        inner = (1 + weight) / pull
        pull, weight = self.sums(
            [(m, arb_series([gap, -1])) for m, gap in self.gaps(s, s, hull[s], hull)]
        )
        outer = (1 + weight) / pull
        require(outer.prec > TERMS and inner.prec > TERMS, "another thread has cut the series")
        total = arb(0)
        for i in range(TERMS + 1):
            c = (inner if i < TERMS else outer)[i]
            # Odd powers cancel, but for what coefficients vary by while others move.
            c = c if i % 2 == 0 else around(0, c.rad())
            total += c * 2 * half ** (i + 1) / (i + 1)
        return arb(total.abs_lower()).union(above(total))

    def shrink(self, u: int, count: int, more: int, end: arb) -> None:
        """Lemma 5: after the first `count` tokens of a cluster, the next ones come within `end`.

        All others stay in the arc around u in which they are.
        """
        group = self.groups[u]
        fixed, free = group[:count], group[count:]
        require(fixed and len(free) >= more > 0, "a cluster has too few tokens")
        require(end > 0, "a cluster is to shrink to nothing")
        arc = self.trap(free).union(between(-end, end))
        require(arc.upper() - arc.lower() < arb.pi(), "a cluster is as wide as half of the circle")
        for k in free:
            self.enclose(k, arc)

        def longest(hull: dict[int, arb]) -> arb:
            gaps = self.gaps(self.tokens.n, u, hull[u] + arc, hull)
            pull = sum((above(self.sums([one])[0]) for one in gaps), arb(0))
            weight, times = above(self.sums(gaps)[1]), []
            for side, other in ((self.low, self.high), (self.high, self.low)):
                start = side[free[0]]
                room = Edge(fixed, side, other, pull, weight + len(free))
                self.closing(u, room, (start, start), hull)
                room = room._replace(weight=weight + more)
                times.append(self.closing(u, room, (start, end), hull))
            return max(times)

        hull = self.meanwhile(longest, {}, set(free))
        time = longest(hull)
        self.wait(hull, time, time, {})
        for k in free[:more]:
            self.low[k] = self.high[k] = end

    def closing(self, u: int, edge: Edge, way: tuple[arb, arb], hull: dict[int, arb]) -> arb:
        """The longest time in which the edge of an arc around u moves inwards so far."""
        drift, total, x = above(self.speed(u, hull)), arb(0), way[0]
        while True:
            low = arb((x * (1 - NARROWER)).lower()).max(way[1])
            inside, own = -edge.pull, arb(0)
            for j in edge.fixed:
                gap = low - edge.side[j], x + edge.other[j]
                inside += self.inwards(*gap)
                own += above(self.tokens.weights(gap[0] if gap[0] > 0 else arb(0))[0])
            pace = inside / (edge.weight + own) - drift
            require(pace > 0, f"tokens may not come closer to token {u}")
            total, x = above(total + (x - low) / pace), low
            if x <= way[1]:
                return total

    def join(self, s: int, u: int) -> None:
        """Take the cluster of s as part of that of u, with the same places."""
        require(u < s, "a cluster joins a later one")
        way = turned(self.place[s] - self.place[u])
        for k in self.groups[s]:
            self.enclose(k, way + self.trap([k]))
        self.groups[u] = sorted(self.groups[u] + self.groups.pop(s))
        del self.place[s]
