"""Lemma 4 of a certificate on a sphere: how a leader moves towards a point, and in what time."""

from __future__ import annotations

from typing import Any, NamedTuple

from flint import arb, arb_series, ctx

from parkade.proof.check.balls import above, around, between, require
from parkade.proof.check.points import Points, Swarm, Vector, lack

TERMS = 6  # of Taylor's formula for the time of a passage


class Course(NamedTuple):
    """A leader x = h·a + √(1 − h²)·e on its way to larger h = ⟨x, a⟩.

    The unit vector a is fixed, and e is the unit vector perpendicular to it in the plane of a and
    x. A pull towards a leaves e as it is, so e remains better known than x.
    """

    axis: Vector
    height: arb
    side: Vector

    @classmethod
    def of(cls, place: Vector, axis: Vector) -> Course:
        """The course of a leader at a place."""
        height = 1 - lack(place, axis)
        return cls(axis, height, (place - axis * height) * (1 / _depth(height)))

    @property
    def place(self) -> Vector:
        """Where the leader is."""
        place: Vector = self.axis * self.height + self.side * _depth(self.height)
        return place


class Passage:
    """Lemma 4: a leader on its course as far as to a larger h."""

    def __init__(self, tokens: Points, leader: int, course: Course, target: arb) -> None:
        self.tokens, self.leader, self.course, self.target = tokens, leader, course, target
        self.way = target - course.height
        self.span = course.height.union(target)
        require(self.way > 0, "a clock does not move on")
        require(self.span > -1 and self.span < 1, "a clock is at an end of its course")

    def hull(self, side: Vector) -> Vector:
        """Where the leader is meanwhile, if e is in a box."""
        return self.course._replace(height=self.span, side=side).place

    def pace(self, others: list[Swarm], side: Vector) -> arb:
        """dh/dt during the passage."""
        slowness: arb = self._slowness(self.span, others, side)
        require(slowness > 0, "a clock may turn around")
        return 1 / slowness

    def _slowness(self, height: Any, others: list[Swarm], side: Vector) -> Any:
        """dt/dh for a ball h, or for a series."""
        depth, pull, total = _depth(height), arb(0), arb(1)
        for count, y in _boxes(others):
            along, across = 1 - lack(self.course.axis, y), side.dot(y - self.course.axis)
            w = count * self.tokens.weight(1 - height * along - depth * across)
            pull, total = pull + w * (depth * along - height * across), total + w
        rate = depth * pull
        least = rate[0] if isinstance(rate, arb_series) else rate
        require(least > 0, "a clock may turn around")
        return total / rate

    def turn(self, others: list[Swarm], side: Vector) -> Vector:
        """de/dh during the passage, by weights as parts of the largest one."""
        axis, depth = self.course.axis, _depth(self.span)
        boxes = _boxes(others)
        center = Vector(arb(x.mid()) for x in self.hull(side).parts)
        _, nearest = min(boxes, key=lambda one: lack(center, one[1]).mid())
        pull, turn = arb(0), Vector([arb(0)] * self.tokens.d)
        for count, y in boxes:
            gap, apart = y - axis, y - nearest
            along, across = axis.dot(gap), side.dot(gap)
            more = self.span * axis.dot(apart) + depth * side.dot(apart)
            w = count * (arb(1) if y is nearest else self.tokens.weight(-more))
            turn += (gap - axis * along - side * across) * w
            pull += w * (depth * (1 + along) - self.span * across)
        result: Vector = turn * (1 / (depth * depth * pull))
        return result

    def time(self, others: list[Swarm], side: Vector) -> arb:
        """∫ dt by Taylor's formula at the middle of the way, for all e and places of others."""
        ctx.cap = TERMS + 1
        middle, half = (self.course.height + self.target) / 2, self.way / 2
        inner, outer = (
            self._slowness(arb_series([height, 1]), others, side) for height in (middle, self.span)
        )
        require(min(inner.prec, outer.prec) > TERMS, "another thread has cut the series")
        total = arb(0)
        for i in range(TERMS + 1):
            c = (inner if i < TERMS else outer)[i]
            # Odd powers cancel, but for what coefficients vary by while others move.
            c = c if i % 2 == 0 else around(0, c.rad())
            total += c * 2 * half ** (i + 1) / (i + 1)
        return between(total.abs_lower(), above(total))


def _boxes(others: list[Swarm]) -> list[tuple[int, Vector]]:
    """The boxes that contain these swarms."""
    return [(one.number, one.center.widened(one.radius)) for one in others]


def _depth(height: Any) -> Any:
    """√(1 − h²), for a ball or a series."""
    return ((1 - height) * (1 + height)).sqrt()
