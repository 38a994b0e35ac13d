"""What a certificate is checked with: balls of Arb, which contain the numbers they stand for."""

from __future__ import annotations

from typing import Any, NamedTuple

from flint import arb

BITS = 80
"""The precision of balls."""


class RefusedError(Exception):
    """A certificate that proves less than it claims, or that cannot be read."""


def require(holds: Any, sentence: str) -> None:
    """Refuse the certificate unless a condition is certainly true."""
    if not holds:
        raise RefusedError(sentence)


def between(low: Any, high: Any) -> arb:
    """The ball that contains both numbers and all between them."""
    return arb(low).union(arb(high))


def around(middle: Any, radius: Any) -> arb:
    """A ball; `radius` is not negative."""
    return arb(middle) + between(-arb(radius), arb(radius))


def above(ball: arb) -> arb:
    """The largest absolute value in a ball."""
    return arb(ball.abs_upper())


def turned(gap: arb) -> arb:
    """A gap less a number of whole turns, near 0."""
    return gap - 2 * round(float(gap.mid()) / 6.283185307179586) * arb.pi()


class Directions:
    """β, the directions of the tokens, and the weight functions."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.beta = arb(float.fromhex(data["beta"]))
        xy = [[float.fromhex(number) for number in row] for row in data["tokens"]]
        finite = all(arb(number).is_finite() for pair in xy for number in pair)
        require(finite and all(x != 0 or y != 0 for x, y in xy), "a token has no direction")
        self.angles = [arb.atan2(arb(y), arb(x)) for x, y in xy]
        self.n = len(xy)
        self.radius = arb(float.fromhex(data["radius"]))
        require(self.radius > 0 and self.radius < 1, "the radius must be between 0 and 1")
        self.rim = self.radius.cos()
        finite = self.beta.is_finite() and self.beta > 0
        require(finite and self.n > 0, "β and the number of tokens must be positive")

    def weights(self, gap: Any) -> tuple[Any, Any]:
        """W and h at a gap, or at a series of gaps."""
        sine, cosine = gap.sin_cos()
        weight = (self.beta * (cosine - 1)).exp()
        return weight, weight * sine


class Piece(NamedTuple):
    """A time, and what is known of each token during all of it."""

    start: arb
    end: arb
    alone: list[bool]  # whether no earlier token is within `radius`
    joined: list[bool]  # whether one is
    ranges: list[Any]  # where the tokens are: angles, or vectors
    traps: dict[int, tuple[int, arb]]  # the leaders of some, and how far these are from them
