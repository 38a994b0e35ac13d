"""Lemma 1 of a certificate on a sphere: tokens stay in tubes around curves."""

from __future__ import annotations

from typing import Any

from flint import arb, arb_series, ctx

from parkade.proof.check.balls import Piece, above, between, require
from parkade.proof.check.points import Points, Vector, angle, lack

TINY = 1e-13  # weights below this are bounded by their size


class SphereGathering:
    """Lemma 1: tubes around p/|p|, where p are polynomials of time in units of 2^-bits."""

    def __init__(self, tokens: Points, bits: int) -> None:
        self.tokens, self.bits, self.unit = tokens, bits, arb(2) ** -bits
        self.time = arb(0), arb(0)
        self.ends, self.errors = list(tokens.places), [arb(0)] * tokens.n
        self.ranges: list[Vector] = []  # of all tokens in the present step
        self.alone, self.joined = [True] * tokens.n, [False] * tokens.n
        self.pieces: list[Piece] = []

    def take(self, step: dict[str, Any]) -> None:
        """Prove that the tokens stay in the tubes of a step, and go on at its end."""
        length = arb(float.fromhex(step["length"]))
        tubes = [arb(float.fromhex(tube)) for tube in step["tubes"]]
        rows = [[[int(c) * self.unit for c in part] for part in row] for row in step["places"]]
        whole = length > 0 and len(rows) == len(tubes) == self.tokens.n
        require(whole and all(len(row) == self.tokens.d for row in rows), "a step is not whole")
        degree = max(len(part) for row in rows for part in row) - 1
        ctx.cap = degree + 2
        first, middle, through, last = (
            [Vector(_shifted(part, place) for part in row).unit() for row in rows]
            for place in (arb(0), arb(1) / 2, between(0, 1), arb(1))
        )
        begins = [Vector(c[0] for c in curve.parts) for curve in first]
        starts = [e + angle(*ends) for e, *ends in zip(
            self.errors, self.ends, begins, strict=True)]  # fmt: skip
        self.ranges = [
            Vector(m[0] + w[1] * between(-0.5, 0.5) for m, w in zip(a.parts, b.parts, strict=True))
            .widened(tube) for a, b, tube in zip(middle, through, tubes, strict=True)
        ]  # fmt: skip
        self.errors = []
        widest: list[arb] = []
        for k, start in enumerate(starts):
            growth, bound = self._stretch(k, widest)
            bound += self._defect(k, (middle, through), length, degree)
            factor = (growth * length).exp()
            most = factor.max(arb(1))
            added = bound * (length.min(-1 / growth) if growth < 0 else length * most)
            largest = most * start + added
            require(largest < tubes[k] and tubes[k] < 1, f"token {k} may leave its tube")
            self.errors.append(above(factor * start + added))
            widest.append(above(largest))
        self.ends = [Vector(c[0] for c in curve.parts) for curve in last]
        early, late = self.time
        self.time = arb((early + length).lower()), arb((late + length).upper())
        known = list(self.alone), list(self.joined)
        self.pieces.append(Piece(late, self.time[0], *known, self.ranges, {}))

    def _stretch(self, k: int, widest: list[arb]) -> tuple[arb, arb]:
        """Bounds of μ_k, and of Σ L_kj e_j and what tokens that are left out add to the speed."""
        beta, x, d = self.tokens.beta, self.ranges[k], self.tokens.d
        terms, total, far, short, pull = [], arb(1), arb(0), arb(0), Vector([arb(0)] * d)
        second = [Vector([arb(0)] * d) for _ in range(d)]
        self.alone[k], self.joined[k], self.left = True, False, set[int]()
        for j in range(k):
            s = lack(x, self.ranges[j])
            self.alone[k] &= bool(1 - s < self.tokens.rim)
            self.joined[k] |= bool(1 - s > self.tokens.rim)
            w = self.tokens.weight(s)
            if w < TINY:
                far += above(w)
                self.left.add(j)
                continue
            y = self.ranges[j] - x + x * s
            wy = y * w
            terms.append((j, w, s, y))
            total, pull, short = total + w, pull + wy, short + w * (1 - s)
            second = [row + wy * c for row, c in zip(second, y.parts, strict=True)]
        speed = pull * (1 / total)
        spread = [row * (1 / total) - speed * c for row, c in zip(second, speed.parts, strict=True)]
        growth = arb((beta * _largest(spread) - short / total).upper())
        bound = 2 * far
        for j, w, s, y in terms:
            sine, along = s * (2 - s), y.dot(speed)
            a = above(beta * (sine - along) - (1 - s))
            b = above(beta * above(sine * speed.dot(speed) - along * along).sqrt())
            norm = (((1 + a) ** 2 + b**2).sqrt() + ((1 - a) ** 2 + b**2).sqrt()) / 2
            bound += above(w / total * norm) * widest[j]
        return growth, bound

    def _defect(
        self, k: int, places: tuple[list[Vector], list[Vector]], length: arb, degree: int
    ) -> arb:
        """A bound of |q_k' − F_k(q)|, by Taylor's formula at the middle of the step."""
        rests = []
        for curves in places:
            x, pull, total, short = curves[k], None, arb_series([1]), arb_series([0])
            pull = Vector([arb_series([0])] * self.tokens.d)
            for j in range(k):
                if j not in self.left:
                    cosine = x.dot(curves[j])
                    w = self.tokens.weight(1 - cosine)
                    pull, total, short = pull + curves[j] * w, total + w, short + w * cosine
            speed = (pull - x * short) * (1 / total)
            rests.append(Vector(
                c.derivative() / length - f for c, f in zip(x.parts, speed.parts, strict=True)
            ))  # fmt: skip
        shortest = min(c.prec for rest in rests for c in rest.parts)
        require(shortest > degree, "another thread has cut the series")
        inner, outer = rests
        sizes = [Vector(c[i] for c in inner.parts).most() / 2**i for i in range(degree)]
        rest: arb = Vector(c[degree] for c in outer.parts).most() / 2**degree
        return sum(sizes, rest)


def _largest(matrix: list[Vector]) -> arb:
    """A bound of the largest eigenvalue of a symmetric matrix with one eigenvalue 0."""
    m = len(matrix) - 1
    trace = sum((row.parts[i] for i, row in enumerate(matrix)), arb(0))
    square = sum((row.dot(row) for row in matrix), arb(0))
    scatter = arb((square - trace * trace / m).upper()).max(arb(0))
    bound: arb = trace / m + (scatter * (m - 1) / m).sqrt()
    return bound


def _shifted(row: list[arb], middle: arb) -> Any:
    """A polynomial as a series at a place."""
    result, place = arb_series([row[-1]]), arb_series([middle, 1])
    for c in reversed(row[:-1]):
        result = result * place + c
    return result
