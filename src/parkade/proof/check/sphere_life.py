"""Lemmas 2 to 5 of a certificate on a sphere: traps, drift, the clock, and edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from flint import arb

from parkade.proof.check.balls import Piece, RefusedError, above, around, between, require
from parkade.proof.check.passage import Course, Passage
from parkade.proof.check.points import Swarm, Vector, angle, farther, lack
from parkade.proof.check.sphere_gathering import SphereGathering

WIDEST = 0.25  # traps that have to be wider are refused
MOST = 40  # attempts to find a hull
NARROWER = 0.03  # by how much a cap shrinks at once
GRAIN = arb(2) ** -70  # hulls are wider than what is in them


class Meanwhile(NamedTuple):
    """Where leaders are during a time, and how fast."""

    hull: dict[int, Vector]
    speeds: dict[int, Vector]
    side: Vector  # of the course of the clock, if there is one
    turn: Vector  # de/dh of this course


class SphereLife:
    """Lemmas 2 to 5: leaders in boxes, and the other tokens in caps around them."""

    def __init__(self, gathering: SphereGathering, groups: dict[int, list[int]]) -> None:
        self.tokens, self.bits = gathering.tokens, gathering.bits
        self.pieces = list(gathering.pieces)
        self.settle(gathering, groups)

    def settle(self, gathering: SphereGathering, groups: dict[int, list[int]]) -> None:
        """Begin with the clusters of tokens at the end of a gathering."""
        members = sorted(k for group in groups.values() for k in group)
        require(members == list(range(self.tokens.n)), "a token is in no cluster, or in two")
        ends, errors = gathering.ends, gathering.errors
        self.groups, self.time = groups, gathering.time
        self.place = {u: ends[u].widened(errors[u]) for u in groups}
        self.trap = [arb(0)] * self.tokens.n  # how far tokens are from their leaders at most
        for u, group in groups.items():
            require(group == sorted(group) and group[0] == u, f"token {u} does not lead")
            for k in group[1:]:
                self.trap[k] = above(angle(ends[k], ends[u]) + errors[k] + errors[u])
        self.course: tuple[int, tuple[str, ...], Course] | None = None  # of the clock

    def scatter(self) -> SphereGathering:
        """The beginning of another gathering, by Lemma 1, from where the tokens are."""
        gathering = SphereGathering(self.tokens, self.bits)
        gathering.time = self.time
        for u, group in self.groups.items():
            center = Vector(arb(x.mid()) for x in self.place[u].parts).unit()
            blur = angle(center, self.place[u])
            for k in group:
                gathering.ends[k], gathering.errors[k] = center, above(blur + self.trap[k])
        return gathering

    def gather(self, steps: list[dict[str, Any]], groups: dict[int, list[int]]) -> None:
        """Lemma 1 again: follow all tokens for a while."""
        gathering = self.scatter()
        for step in steps:
            gathering.take(step)
        self.pieces += gathering.pieces
        self.settle(gathering, groups)

    def widest(self, tokens: list[int]) -> arb:
        """The widest of the traps of these tokens."""
        return max((self.trap[k] for k in tokens), default=arb(0))

    def others(self, u: int, place: dict[int, Vector]) -> list[Swarm]:
        """What pulls leader u: the tokens before it, as one swarm for each cluster."""
        earlier = {v: [j for j in group if j < u] for v, group in self.groups.items() if v < u}
        return [Swarm(len(js), place[v], self.widest(js)) for v, js in earlier.items()]

    def speed(self, u: int, place: dict[int, Vector]) -> Vector:
        """F_u of a leader."""
        pull, weight = self.tokens.pulls(place[u], self.others(u, place))
        speed: Vector = pull * (1 / (1 + weight))
        return speed

    def outside(self, u: int, rim: arb, place: dict[int, Vector]) -> dict[int, tuple[arb, arb]]:
        """Bounds of w·sin and of w for a token of each other cluster, as seen from near u."""
        result = {}
        for v, group in self.groups.items():
            if v != u:
                short = farther(lack(place[u], place[v]), rim + self.widest(group))
                w = self.tokens.weight(short)
                result[v] = above(w * above(short * (2 - short)).sqrt()), above(w)
        return result

    def sums(self, outside: dict[int, tuple[arb, arb]], before: int) -> tuple[arb, arb]:
        """Bounds of |Σ w P_x y| and of Σ w over tokens of other clusters before one."""
        pull, weight = arb(0), arb(0)
        for v, (most, heaviest) in outside.items():
            count = sum(j < before for j in self.groups[v])
            pull, weight = pull + count * most, weight + count * heaviest
        return above(pull), above(weight)

    def inwards(self, near: arb, far: arb, trap: arb) -> arb:
        """The least pull towards u from a token in a trap, at distances from `near` to `far`."""
        require(far + trap < arb.pi() / 2, "a cluster is as wide as half of the sphere")
        pull = (near - trap).sin()
        if pull > 0:
            pull *= self.tokens.weight(1 - (far + trap).cos())
        return arb(pull.lower())

    def hold(self, u: int, place: dict[int, Vector], drift: arb, free: frozenset[int]) -> None:
        """Lemma 2: widen the traps around u until they hold, but for those of tokens in `free`."""
        group, rim = self.groups[u], arb(-1)
        bound = [k for k in group[1:] if k not in free]
        while bound and not self.widest(bound) <= rim:
            rim = self.widest(bound)
            outside = self.outside(u, rim, place)
            for i, k in enumerate(group[1:], start=1):
                pull, weight = self.sums(outside, k)
                while k not in free:
                    at = self.trap[k]
                    inside = [self.inwards(at, at, self.trap[j]) for j in group[:i]]
                    if sum(inside, -pull) > drift * (1 + i + weight):
                        break
                    self.trap[k] = above(at * 1.05 + drift / 8 + arb(2) ** -60)
                    require(self.trap[k] < WIDEST, f"token {k} may leave the cluster of {u}")

    def meanwhile(
        self,
        longest: Callable[[Meanwhile], arb],
        free: frozenset[int] = frozenset(),
        passage: Passage | None = None,
    ) -> Meanwhile:
        """Lemma 3: where leaders are for a time, which depends on that; traps hold there."""
        hull = dict(self.place)
        side = turn = passage.course.side if passage else Vector([])
        for _ in range(MOST):
            traps = list(self.trap)
            if passage:
                hull[passage.leader] = passage.hull(side)
                turn = passage.turn(self.others(passage.leader, hull), side)
            now = Meanwhile(hull, {u: self.speed(u, hull) for u in hull}, side, turn)
            for u, speed in now.speeds.items():
                self.hold(u, hull, speed.most(), free)
            wait = between(0, longest(now))
            hull = {u: _hull(hull[u], self.place[u] + now.speeds[u] * wait) for u in hull}
            if passage:
                hull[passage.leader] = now.hull[passage.leader]
                side = _hull(side, passage.course.side + turn * between(0, above(passage.way)))
            wider = any(hull[u] is not now.hull[u] for u in hull) or side is not now.side
            if not wider and traps == self.trap:
                return now
        raise RefusedError("leaders move too far in a step")

    def wait(self, now: Meanwhile, least: arb, most: arb) -> None:
        """Let a time between `least` and `most` pass, and note who leads meanwhile."""
        start, spent = self.time[1], between(least.lower(), most.upper())
        self.place = {u: box + now.speeds[u] * spent for u, box in self.place.items()}
        self.time = arb((self.time[0] + least).lower()), arb((self.time[1] + most).upper())
        self.course = None
        self.note(start, self.time[0], now.hull)

    def note(self, start: arb, end: arb, hull: dict[int, Vector]) -> None:
        """Note what is known of all tokens from `start` to `end`, with leaders at these places."""
        alone, joined = [False] * self.tokens.n, [False] * self.tokens.n
        ranges, traps = [hull[0]] * self.tokens.n, {}
        for u, group in self.groups.items():
            others = self.others(u, hull)
            alone[u] = all(
                1 - farther(lack(hull[u], one.center), one.radius) < self.tokens.rim
                for one in others
            )
            for k in group:
                joined[k] = k != u and bool(self.trap[k] < self.tokens.radius)
                ranges[k] = hull[u].widened(self.trap[k])
                traps[k] = u, between(0, self.trap[k])
        self.pieces.append(Piece(start, end, alone, joined, ranges, traps))

    def rest(self, time: arb) -> None:
        """Lemma 3 alone: a time passes."""
        require(time > 0, "a time is not positive")
        self.wait(self.meanwhile(lambda now: time), time, time)

    def clock(self, s: int, target: arb, *axis: str) -> None:
        """Lemma 4: leader s moves towards a point, `axis`, until ⟨x, a⟩ is `target`."""
        if self.course is None or self.course[:2] != (s, axis):
            require(len(axis) == self.tokens.d, "a clock has no direction")
            unit = Vector(arb(float.fromhex(c)) for c in axis).unit()
            self.course = s, axis, Course.of(self.place[s], unit)
        course = self.course[2]
        passage = Passage(self.tokens, s, course, target)

        def pace(now: Meanwhile) -> arb:
            return passage.pace(self.others(s, now.hull), now.side)

        def longest(now: Meanwhile) -> arb:
            return above(passage.way) / arb(pace(now).lower())

        now = self.meanwhile(longest, passage=passage)
        least, most = arb(passage.way.abs_lower()) / above(pace(now)), longest(now)
        if course.height.is_exact():
            taken = passage.time(self.others(s, now.hull), now.side)
            least, most = least.max(arb(taken.lower())), most.min(arb(taken.upper()))
        self.wait(now, least, most)
        course = Course(course.axis, target, course.side + now.turn * passage.way)
        self.course, self.place[s] = (s, axis, course), course.place

    def shrink(self, u: int, count: int, more: int, end: arb) -> None:
        """Lemma 5: after the first `count` tokens of a cluster, the next ones come within `end`.

        All others stay in the cap around u in which they are.
        """
        group = self.groups[u]
        fixed, free = group[:count], group[count:]
        require(fixed and len(free) >= more > 0, "a cluster has too few tokens")
        require(end > 0, "a cluster is to shrink to nothing")
        start = self.widest(free).max(end)
        for k in free:
            self.trap[k] = start

        def longest(now: Meanwhile) -> arb:
            pull, weight = self.sums(self.outside(u, start, now.hull), self.tokens.n)
            drift = now.speeds[u].most()
            self.closing(fixed, (pull, weight + len(free), drift), (start, start))
            return self.closing(fixed, (pull, weight + more, drift), (start, end))

        now = self.meanwhile(longest, frozenset(free))
        time = longest(now)
        self.wait(now, time, time)
        for k in free[:more]:
            self.trap[k] = end

    def closing(self, fixed: list[int], against: tuple[arb, arb, arb], way: tuple[arb, arb]) -> arb:
        """The longest time in which a cap that these tokens pull inwards shrinks so far.

        Against them are: the pull of other clusters, the weight of all other tokens, and the
        speed of the leader.
        """
        (pull, weight, drift), total, x = against, arb(0), way[0]
        while True:
            low = arb((x * (1 - NARROWER)).lower()).max(way[1])
            inside = sum((self.inwards(low, x, self.trap[j]) for j in fixed), -pull)
            near = (arb(0).max(low - self.trap[j]) for j in fixed)
            own = sum((self.tokens.weight(1 - gap.cos()) for gap in near), arb(0))
            pace = inside / above(weight + own) - drift
            require(pace > 0, "tokens may not come closer to their leader")
            total, x = above(total + (x - low) / pace), low
            if x <= way[1]:
                return total

    def join(self, s: int, u: int) -> None:
        """Take the cluster of s as part of that of u, with the same places."""
        require(u < s, "a cluster joins a later one")
        way = angle(self.place[s], self.place[u])
        for k in self.groups[s]:
            self.trap[k] = above(self.trap[k] + way)
        self.groups[u] = sorted(self.groups[u] + self.groups.pop(s))
        del self.place[s]

    def remain(self, end: arb) -> None:
        """Lemma 2 for a single cluster, whose leader never moves: its traps hold until the end."""
        self.hold(0, self.place, arb(0), frozenset())
        self.note(self.time[1], end, self.place)


def _hull(hull: Vector, reached: Vector) -> Vector:
    """The same hull if its interior contains what is reached, or else a wider one."""
    pairs = zip(hull.parts, reached.parts, strict=True)
    if all(outer.contains_interior(inner) for outer, inner in pairs):
        return hull
    return Vector(around(x, x.rad() / 8 + GRAIN) for x in reached.parts)
