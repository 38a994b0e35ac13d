"""Points of a sphere as vectors of balls of Arb."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from flint import arb

from parkade.proof.check.balls import above, around, between, require


class Vector:
    """A vector whose coordinates are balls, or power series."""

    __slots__ = ("parts",)

    def __init__(self, parts: Any) -> None:
        self.parts = list(parts)

    def _with(self, other: Vector, function: Callable[[Any, Any], Any]) -> Vector:
        return Vector(map(function, self.parts, other.parts))

    def __add__(self, other: Vector) -> Vector:
        return self._with(other, lambda x, y: x + y)

    def __sub__(self, other: Vector) -> Vector:
        return self._with(other, lambda x, y: x - y)

    def __mul__(self, factor: Any) -> Vector:
        return Vector(x * factor for x in self.parts)

    def dot(self, other: Vector) -> Any:
        """The scalar product of two vectors."""
        products = [x * y for x, y in zip(self.parts, other.parts, strict=True)]
        return sum(products[1:], products[0])

    def unit(self) -> Vector:
        """The vector divided by its length."""
        result: Vector = self * self.dot(self).rsqrt()
        return result

    def most(self) -> arb:
        """The largest length, for coordinates that are balls."""
        return above(sum((above(x) ** 2 for x in self.parts), arb(0)).sqrt())

    def widened(self, radius: arb) -> Vector:
        """All vectors that are so near to these."""
        return Vector(around(x, radius) for x in self.parts)


def lack(one: Vector, other: Vector) -> Any:
    """1 − ⟨x, y⟩ for unit vectors, which is precise where they are near to each other."""
    gap = one - other
    return gap.dot(gap) / 2


def angle(one: Vector, other: Vector) -> arb:
    """The largest angle between unit vectors of which not much is unknown."""
    chord = above(lack(one, other) / 2).sqrt()
    require(chord < 1, "two points may be opposite to each other")
    return above(2 * chord.asin())


class Swarm(NamedTuple):
    """Tokens that are near to each other."""

    number: int
    center: Vector
    radius: arb  # the largest angle between one of them and the center


def farther(short: arb, radius: arb) -> arb:
    """1 − ⟨x, z⟩ for z within an angle of y, where `short` is 1 − ⟨x, y⟩."""
    half = arb(short.lower()).max(arb(0)), arb(short.upper()).min(arb(2))
    low, high = (2 * (end / 2).sqrt().asin() for end in half)
    near, far = (low - radius).max(arb(0)), (high + radius).min(arb.pi())
    return between((1 - near.cos()).lower(), (1 - far.cos()).upper())


class Points:
    """β, and the directions of the tokens on a sphere."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.beta = arb(float.fromhex(data["beta"]))
        rows = [Vector(arb(float.fromhex(number)) for number in row) for row in data["tokens"]]
        self.n, self.d = len(rows), len(rows[0].parts)
        require(all(len(row.parts) == self.d for row in rows), "tokens differ in dimension")
        lengths = [row.dot(row) for row in rows]
        require(all(one > 0 and one.is_finite() for one in lengths), "a token has no direction")
        self.places = [row.unit() for row in rows]
        self.radius = arb(float.fromhex(data["radius"]))
        require(self.radius > 0 and self.radius < 1, "the radius must be between 0 and 1")
        self.rim = self.radius.cos()
        require(self.beta.is_finite() and self.beta > 0, "β must be positive")

    def weight(self, lack: Any) -> Any:
        """W of 1 − ⟨x, y⟩, a ball or a series."""
        return (-self.beta * lack).exp()

    def pulls(self, x: Vector, others: list[Swarm]) -> tuple[Vector, Any]:
        """Σ w P_x y and Σ w over the tokens y of swarms, for tokens x."""
        pull, total = Vector([arb(0)] * self.d), arb(0)
        for swarm in others:
            short = lack(x, swarm.center)
            w = swarm.number * self.weight(farther(short, swarm.radius))
            way = (swarm.center - x + x * short).widened(swarm.radius)
            pull, total = pull + way * w, total + w
        return pull, total
