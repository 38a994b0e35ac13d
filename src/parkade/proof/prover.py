"""Find the steps of a proof of merges; the checker decides whether each of them proves anything.

Nothing here has to be right: a wrong guess proves less.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from flint import arb

from parkade.base.types import Array
from parkade.proof.check.balls import Directions, Piece, RefusedError, around
from parkade.proof.check.gathering import Gathering
from parkade.proof.check.life import Life
from parkade.proof.check.verdict import finish
from parkade.proof.planner import APART, Merge, Planner
from parkade.proof.taylor import polynomials
from parkade.proof.watershed import watershed

BITS = 40
"""Coefficients of polynomials are multiples of 2^-BITS."""

_DEGREE = 10
_ERROR = 1e-9  # the last term of a polynomial
_BEND = 0.6  # the largest change of an exponent β cos within a step
_TUBES = (2.0**-16, 2.0**-12, 2.0**-9)
_LONGEST, _SHORTEST = 0.5, 2.0**-20  # steps of the gathering
_WORK, _LATEST = 1e7, 3000.0  # the most n²t and t of the gathering
_CLOSE = 1e-4  # the largest distance of a token from its leader when the gathering ends


class Proof:
    """Adds the steps of a proof to the data of a certificate."""

    def __init__(
        self, data: dict[str, Any], expected: list[Merge], report: Callable[[float], None]
    ) -> None:
        self.data, self.expected = data, expected
        self.beta, self.t_end = float.fromhex(data["beta"]), float.fromhex(data["t_end"])
        self.gathering = Gathering(Directions(data), BITS)
        self.steps: list[dict[str, Any]] = []
        self.pieces = self.gathering.pieces
        self.why = ""
        self._report, self._furthest, self.best = report, 0.0, arb(0)

    def run(self) -> list[Piece]:
        """What is proved, piece by piece; `why` says why it ends early, if it does."""
        tokens = np.array([[float.fromhex(c) for c in row] for row in self.data["tokens"]])
        angles = np.rint(np.arctan2(tokens[:, 1], tokens[:, 0]) * 2.0**BITS) / 2.0**BITS
        longest, after = min(_LATEST, _WORK / len(angles) ** 2), 0.0
        later = None
        while after <= longest:
            angles, clusters, why = self._gather(angles, after, longest)
            if clusters is None:
                break
            planner, later = (self._planner(clusters, overlap) for overlap in (False, True))
            self._live(planner)
            if not planner.why:
                return self.pieces
            reached = float(planner.life.time[1])
            after = next((t for t, *_ in self.expected if t > 0.9 * reached), np.inf)
        if later is None:
            self.data["gathering"], self.why = self.steps, why
        else:
            self._live(later)
        return self.pieces

    def report(self, t: float) -> None:
        """Say how far the proof is; it may begin again, but that is not shown."""
        self._furthest = max(self._furthest, t)
        self._report(self._furthest)

    def _planner(self, clusters: list[list[int]], overlap: bool) -> Planner:
        """What can prove the life after the present gathering."""
        life = Life(self.gathering, {group[0]: list(group) for group in clusters})
        steps = {"gathering": list(self.steps), "clusters": clusters}
        return Planner(life, steps, self.t_end, self.expected, overlap)

    def _live(self, planner: Planner) -> None:
        """Prove what can be proved of the life after the gathering; the best try remains."""
        planner.run(self.report)
        reached = planner.life.time[0]
        if not self.data["clusters"] or not planner.why or reached > self.best:
            self.pieces, self.best = finish(planner.life, arb(self.t_end)), reached
            self.why = planner.why
            self.data |= planner.data

    def _gather(
        self, angles: Array, after: float, longest: float
    ) -> tuple[Array, list[list[int]] | None, str]:
        """Follow all tokens until they are in clusters; if they are not in the end, say why."""
        gathering = self.gathering
        while True:
            why = "tokens are not in narrow clusters yet"
            try:
                angles = self._step(angles)
            except RefusedError as error:
                why = str(error)
                break
            t = float(gathering.time)
            self.report(t)
            if t >= self.t_end:
                return angles, None, ""
            clusters = self._clusters(angles) if t > after else None
            later = [one for one, *_ in self.expected if t < one < longest]
            calm = all(b > APART * a for a, b in pairwise([t, *later]))
            if clusters is not None and (calm or t > longest):
                return angles, clusters, ""
            if t > 2 * longest:
                break
        places = list(map(around, gathering.ends, gathering.errors))
        radius = float(gathering.tokens.radius)
        return angles, None, watershed(range(len(angles)), places, self.beta, radius) or why

    def _step(self, angles: Array) -> Array:
        """One step of the gathering from these angles; returns those at its end."""
        taylor = polynomials(angles, self.beta, _DEGREE)
        speed, last = (max(float(np.abs(taylor[i]).max()), 1e-300) for i in (1, _DEGREE))
        length = min(_LONGEST, _BEND / (self.beta * speed), (_ERROR / last) ** (1 / _DEGREE))
        length = max(np.floor(length / _SHORTEST), 1.0) * _SHORTEST
        scaled = np.rint(taylor * length ** np.arange(_DEGREE + 1)[:, None] * 2.0**BITS)
        rows = [np.trim_zeros([int(c) for c in row], "b") or [0] for row in scaled.T]
        for tube in _TUBES:
            step = {"length": float(length).hex(), "tubes": tube.hex(), "places": rows}
            before = list(self.gathering.errors)
            try:
                self.gathering.take(step)
            except RefusedError:
                self.gathering.errors = before
                if tube == _TUBES[-1]:
                    raise
                continue
            break
        self.steps.append(step)
        end: Array = scaled.sum(axis=0) / 2.0**BITS
        return end

    def _clusters(self, angles: Array) -> list[list[int]] | None:
        """The clusters, if it is known who leads, and all others are close to a leader."""
        last = self.gathering.pieces[-1]
        if any(a == j for a, j in zip(last.alone, last.joined, strict=True)):
            return None
        leaders = np.flatnonzero(last.alone)
        gaps = np.abs(np.angle(np.exp(1j * (angles[:, None] - angles[leaders]))))
        nearest = leaders[gaps.argmin(axis=1)]
        if gaps.min(axis=1).max() > _CLOSE or (nearest > np.arange(len(angles))).any():
            return None
        return [np.flatnonzero(nearest == u).tolist() for u in leaders]
