"""Lemma 1 of a certificate: tokens stay in tubes around polynomials of time."""

from __future__ import annotations

from typing import Any

from flint import arb, arb_series, ctx

from parkade.proof.check.balls import Directions, Piece, above, around, between, require

TINY = 1e-13  # weights below this are bounded by their size


class Gathering:
    """Lemma 1: tubes around polynomials of time, which are in units of 2^-bits."""

    def __init__(self, tokens: Directions, bits: int) -> None:
        self.tokens, self.unit, self.time = tokens, arb(2) ** -bits, arb(0)
        self.ends, self.errors = list(tokens.angles), [arb(0)] * tokens.n
        self.ranges: list[arb] = []  # of all tokens in the present step
        self.alone, self.joined = [True] * tokens.n, [False] * tokens.n
        self.pieces: list[Piece] = []

    def take(self, step: dict[str, Any]) -> None:
        """Prove that the tokens stay in the tubes of a step, and go on at its end."""
        length = arb(float.fromhex(step["length"]))
        rows = [[int(c) * self.unit for c in row] for row in step["places"]]
        tube = arb(float.fromhex(step["tubes"]))
        require(length > 0 and len(rows) == self.tokens.n, "a step is not whole")
        degree = max(len(row) for row in rows) - 1
        ctx.cap = degree + 2
        middle = [_shifted(row, arb(1) / 2) for row in rows]
        whole = [_shifted(row, between(0, 1)) for row in rows]
        starts = [e + above(end - row[0]) for e, end, row in zip(
            self.errors, self.ends, rows, strict=True)]  # fmt: skip
        self.ranges = [around(series[0], tube) for series in whole]
        self.errors = []
        widest: list[arb] = []
        for k, start in enumerate(starts):
            growth, bound = self._bounds(k, (middle, whole), length, degree, widest)
            factor = (growth * length).exp()
            largest = factor.max(arb(1)) * (start + bound * length)
            require(largest < tube and tube < 1, f"token {k} may leave its tube")
            self.errors.append(above(factor * start + factor.max(arb(1)) * bound * length))
            widest.append(above(largest))
        self.ends = [sum(row, arb(0)) for row in rows]
        start, self.time = self.time, self.time + length
        known = list(self.alone), list(self.joined)
        self.pieces.append(Piece(start, self.time, *known, self.ranges, {}))

    def _bounds(
        self, k: int, places: tuple[list[Any], list[Any]], length: arb, degree: int,
        widest: list[arb],
    ) -> tuple[arb, arb]:  # fmt: skip
        """Bounds of μ_k, and of Σ L_kj e_j + δ_k."""
        beta, terms, far = self.tokens.beta, [], arb(0)
        turns, rises, pull, total = arb(0), arb(0), arb(0), arb(1)
        sums = [[arb_series([0]), arb_series([1])] for _ in places]
        self.alone[k], self.joined[k] = True, False
        for j in range(k):
            sine, cosine = (self.ranges[j] - self.ranges[k]).sin_cos()
            self.alone[k] &= bool(cosine < self.tokens.rim)
            self.joined[k] |= bool(cosine > self.tokens.rim)
            weight = (beta * (cosine - 1)).exp()
            if weight < TINY:
                far += above(weight)
                continue
            turn, rise = weight * (cosine - beta * sine * sine), -beta * weight * sine
            terms.append((j, turn, rise))
            turns, rises, total = turns + turn, rises + rise, total + weight
            pull += weight * sine
            for two, series in zip(sums, places, strict=True):
                w, h = self.tokens.weights(series[j] - series[k])
                two[0], two[1] = two[0] + h, two[1] + w
        speed, others = pull / total, far * (1 + 2 * beta)
        growth = arb(((speed * rises - turns) / total).upper()) + others
        bound = 2 * far + others  # they change F by 2·far at most, and errors are below 1
        for j, turn, rise in terms:
            bound += above((turn - speed * rise) / total) * widest[j]
        inner, outer = (pulls / weights for pulls, weights in sums)
        # Taylor's formula for p_k' − F_k(p) at the middle of the step.
        defect = places[0][k].derivative() / length - inner
        least = min(outer.prec, inner.prec, defect.prec + 1)
        require(least > degree, "another thread has cut the series")
        bound += sum((above(defect[i]) / 2**i for i in range(degree)), arb(0))
        return growth, bound + above(outer[degree]) / 2**degree


def _shifted(row: list[arb], middle: arb) -> Any:
    """A polynomial as a series at a place."""
    result, place = arb_series([row[-1]]), arb_series([middle, 1])
    for c in reversed(row[:-1]):
        result = result * place + c
    return result
