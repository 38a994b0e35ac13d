"""Lemmas 2 to 5 of a certificate: traps, drift, the clock, and edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flint import arb, arb_series, ctx

from parkade.proof.check.balls import Piece, RefusedError, above, around, between, require, turned
from parkade.proof.check.gathering import Gathering

MOST = 40  # attempts to find a hull
TERMS = 6  # of Taylor's formula for the time of a passage
NARROWER = 0.03  # by how much an arc shrinks at once


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
        self.pieces = list(gathering.pieces)

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

    def gaps(self, k: int, u: int, at: Any, place: dict[int, Any]) -> list[tuple[int, Any]]:
        """Tokens before k in other clusters than that of u: their number, and their gap from k.

        Those that may be farther than the radius from their leader are apart from the others.
        """
        result, radius = [], self.tokens.radius
        for v, group in self.groups.items():
            before = [j for j in group if j < k and v != u]
            far = [j for j in before if not (self.low[j] < radius and self.high[j] < radius)]
            near = [j for j in before if j not in far] if far else before
            result += [(len(bunch), place[v] + self.trap(bunch) - at)
                       for bunch in (near, far) if bunch]  # fmt: skip
        return result

    def sums(self, gaps: list[tuple[int, Any]]) -> tuple[Any, Any]:
        """Σ h and Σ w."""
        pull, weight = arb(0), arb(0)
        for count, gap in gaps:
            w, h = self.tokens.weights(gap)
            pull, weight = pull + count * h, weight + count * w
        return pull, weight

    def speed(self, u: int, place: dict[int, Any]) -> Any:
        """F_u of a leader."""
        pull, weight = self.sums(self.gaps(u, u, place[u], place))
        return pull / (1 + weight)

    def inwards(self, low: arb, high: arb) -> tuple[arb, arb]:
        """Bounds from `low` to `high`, of h from below and of w from above.

        For h rises, then falls; h(x) ≥ x if x < 0; and w falls, and is 1 at most.
        """
        require(high < arb.pi(), "a cluster is as wide as half of the circle")
        weight, pull = self.tokens.weights(low) if low > 0 else (arb(1), low)
        return arb(pull.min(self.tokens.weights(high)[1]).lower()), above(weight)

    def hold(self, u: int, place: dict[int, arb]) -> None:
        """Lemma 2: widen the traps around u until they hold."""
        drift, group = above(self.speed(u, place)), self.groups[u]
        for i, k in enumerate(group[1:], start=1):
            for side, other, sign in ((self.low, self.high, -1), (self.high, self.low, 1)):
                while True:
                    rim = side[k]
                    require(rim < 3, f"token {k} may leave the cluster of {u}")
                    pull, weight = self.sums(self.gaps(k, u, place[u] + sign * rim, place))
                    own = [self.inwards(rim - side[j], rim + other[j]) for j in group[:i]]
                    total = 1 + above(weight) + sum(w for _, w in own)
                    if sum((h for h, _ in own), -above(pull)) > drift * total:
                        break
                    side[k] = above(rim * 1.2 + 2 * drift + arb(2) ** -60)

    def meanwhile(
        self, longest: Callable[[dict[int, arb]], arb], fixed: dict[int, arb]
    ) -> dict[int, arb]:
        """Lemma 3: where leaders are for a time, which depends on that; traps hold there."""
        hull = self.place | fixed
        for _ in range(MOST):
            before = [*self.low, *self.high]
            for u in self.groups:
                self.hold(u, hull)
            wait = between(0, longest(hull))
            reached = {u: self.place[u].union(self.place[u] + self.speed(u, hull) * wait)
                       for u in self.groups if u not in fixed}  # fmt: skip
            inside = all(
                hull[u].is_finite() and hull[u].contains(ball) for u, ball in reached.items()
            )
            traps = zip([*self.low, *self.high], before, strict=True)
            if inside and all(now == then for now, then in traps):
                return hull
            for u, ball in reached.items():
                if not hull[u].contains(ball):
                    hull[u] = around(ball, ball.rad() / 8 + arb(2) ** -70)
        raise RefusedError("leaders move too far in a step")

    def wait(self, hull: dict[int, arb], least: arb, most: arb, fixed: dict[int, arb]) -> None:
        """Let a time between `least` and `most` pass, and note who leads meanwhile."""
        start, ctx.cap = self.time[1], 2
        spent = between(least.lower(), most.upper())
        speeds = {u: self.speed(u, hull) for u in self.groups}
        paths = {u: arb_series([hull[u], speeds[u]]) for u in self.groups}
        moved = dict(fixed)
        for u in self.groups.keys() - fixed.keys():
            change = arb_series([0]) + self.speed(u, paths)
            require(change.prec > 1, "another thread has cut the series")
            now, later = self.speed(u, self.place) * spent, change[1] * spent**2 / 2
            moved[u] = self.place[u] + (speeds[u] * spent).intersection(now + later)
        self.place = moved
        self.time = arb((self.time[0] + least).lower()), arb((self.time[1] + most).upper())
        self.note(start, self.time[0], hull)

    def note(self, start: arb, end: arb, hull: dict[int, arb]) -> None:
        """Note what is known of all tokens from `start` to `end`, with leaders at these places."""
        alone, joined, traps = [False] * self.tokens.n, [False] * self.tokens.n, {}
        for u, group in self.groups.items():
            gaps = self.gaps(u, u, hull[u], hull)
            alone[u] = all(gap.cos() < self.tokens.rim for _, gap in gaps)
            for k in group[1:]:
                joined[k] = bool(self.low[k].max(self.high[k]) < self.tokens.radius)
                traps[k] = u, self.trap([k])
        self.pieces.append(Piece(start, end, alone, joined, self.ranges(hull), traps))

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

        hull = self.meanwhile(longest, {s: span})
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
        """Lemma 5: after the first `count` tokens of a cluster, the next ones come within `end`."""
        group = self.groups[u]
        moving = group[count : count + more]
        require(count > 0 and len(moving) == more > 0, "a cluster has too few tokens")
        require(end > 0, "a cluster is to shrink to nothing")
        for k in moving:
            self.enclose(k, self.trap([k]).union(between(-end, end)))

        def longest(hull: dict[int, arb]) -> arb:
            arc = hull[u] + self.trap(moving)
            gaps = self.gaps(moving[-1], u, arc, hull)
            pull = sum((above(self.sums([one])[0]) for one in gaps), arb(0))
            outside = pull, above(self.sums(gaps)[1]) + more, above(self.speed(u, hull))
            times = []
            for side, other in ((self.low, self.high), (self.high, self.low)):
                rims = [(side[j], other[j]) for j in group[:count]]
                times.append(self.closing(max(side[k] for k in moving), end, rims, outside))
            return max(times)

        hull = self.meanwhile(longest, {})
        time = longest(hull)
        self.wait(hull, time, time, {})
        for k in moving:
            self.low[k] = self.high[k] = end

    def closing(
        self, start: arb, end: arb, rims: list[tuple[arb, arb]], outside: tuple[arb, arb, arb]
    ) -> arb:
        """The longest time in which the edge of an arc moves inwards from `start` to `end`.

        `rims` says how far tokens that pull it inwards are from their leader at most, towards the
        edge and away from it; `outside` bounds the pull of other clusters, the weight of all other
        tokens, and the speed of the leader.
        """
        pull, weight, drift = outside
        total, x = arb(0), start
        while True:
            low = arb((x * (1 - NARROWER)).lower()).max(end)
            own = [self.inwards(low - side, x + other) for side, other in rims]
            inside = sum((h for h, _ in own), -pull)
            pace = inside / sum((w for _, w in own), weight) - drift
            require(inside > 0 and pace > 0, "the tokens of a cluster may not come closer")
            total, x = above(total + (x - low) / pace), low
            if x <= end:
                return total

    def join(self, s: int, u: int) -> None:
        """Take the cluster of s as part of that of u, with the same places."""
        require(u < s, "a cluster joins a later one")
        way = turned(self.place[s] - self.place[u])
        for k in self.groups[s]:
            self.enclose(k, way + self.trap([k]))
        self.groups[u] = sorted(self.groups[u] + self.groups.pop(s))
        del self.place[s]
        # Tokens may follow earlier ones to where these may be.
        group = self.groups[u]
        for i in range(group.index(s), len(group)):
            self.enclose(group[i], self.trap(group[: i + 1]))

    def remain(self, end: arb) -> None:
        """Lemma 2 for a single cluster, whose leader never moves: its traps hold until the end."""
        hull = dict(self.place)
        self.hold(0, hull)
        self.note(self.time[1], end, hull)
