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
from parkade.proof.check.balls import Directions, Piece, RefusedError
from parkade.proof.check.gathering import Gathering
from parkade.proof.check.life import Life
from parkade.proof.check.verdict import finish, follow
from parkade.proof.taylor import polynomials

BITS = 40
"""Coefficients of polynomials are multiples of 2^-BITS."""

_DEGREE = 10
_ERROR = 1e-9  # the last term of a polynomial
_BEND = 0.6  # the largest change of an exponent β cos within a step
_TUBES = (2.0**-16, 2.0**-12, 2.0**-9)
_LONGEST, _SHORTEST = 0.5, 2.0**-20  # steps of the gathering
_WORK, _LATEST = 1e7, 3000.0  # the most n²t and t of the gathering
_APART = 3.0  # merges with a smaller ratio of times are followed in steps of the gathering
_CLOSE = 1e-4  # the largest distance of a token from its leader when the gathering ends
_STRIDE = 0.2  # by how much an exponent changes while a leader makes a step
_SLOWLY = 0.03  # by how much, while the others move meanwhile
_LEAST = 0.02  # the smallest share of a stride that is tried
_NEAR, _FAR = 2.2, 5.0  # the distances at which two clusters become one, in units of 1/√β
_SETTLED = 1e-8  # the width to which clusters shrink if there is time
_PATIENT = 30.0  # the factor of time until the next merge, if there is

Merge = tuple[float, int, int]
"""An expected merge: its time, the token whose cluster joins another, and into which."""


class Proof:
    """Adds the steps of a proof to the data of a certificate."""

    def __init__(
        self, data: dict[str, Any], expected: list[Merge], report: Callable[[float], None]
    ) -> None:
        self.data, self.expected, self.report = data, expected, report
        self.beta, self.t_end = float.fromhex(data["beta"]), float.fromhex(data["t_end"])
        self.gathering = Gathering(Directions(data), BITS)
        self.steps: list[dict[str, Any]] = []
        self.why = ""

    def run(self) -> list[Piece]:
        """What is proved, piece by piece; `why` says why it ends early, if it does."""
        tokens = np.array([[float.fromhex(c) for c in row] for row in self.data["tokens"]])
        angles = np.rint(np.arctan2(tokens[:, 1], tokens[:, 0]) * 2.0**BITS) / 2.0**BITS
        longest, after = min(_LATEST, _WORK / len(angles) ** 2), 0.0
        pieces = self.gathering.pieces
        while True:
            angles, clusters = self._gather(angles, after, longest)
            if clusters is None and not self.data["clusters"]:
                self.data["gathering"] = self.steps
                return self.gathering.pieces
            if clusters is None:
                return pieces
            life = Life(self.gathering, {group[0]: list(group) for group in clusters})
            planner = Planner(life, self.beta, self.t_end, self.expected, self.report)
            planner.run()
            pieces = finish(self.gathering, life, arb(self.t_end))
            self.data |= {
                "gathering": list(self.steps), "clusters": clusters, "life": planner.steps,
            }  # fmt: skip
            self.why = planner.why
            reached = float(life.time[1])
            after = next((t for t, *_ in self.expected if t > 0.9 * reached), np.inf)
            if not self.why or after > longest:
                return pieces

    def _gather(
        self, angles: Array, after: float, longest: float
    ) -> tuple[Array, list[list[int]] | None]:
        """Follow all tokens until they are in clusters; None if they are not in the end."""
        while True:
            try:
                angles = self._step(angles)
            except RefusedError as error:
                self.why = str(error)
                return angles, None
            t = float(self.gathering.time)
            self.report(t)
            if t >= self.t_end:
                return angles, None
            clusters = self._clusters(angles) if t > after else None
            later = [one for one, *_ in self.expected if one > t]
            calm = all(b > _APART * a for a, b in pairwise([t, *later]))
            if clusters is not None and (calm or t > longest):
                return angles, clusters
            if t > 2 * longest:
                self.why = "tokens are not in narrow clusters yet"
                return angles, None

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


class Planner:
    """Chooses the steps of the life after the gathering, one after the other."""

    def __init__(
        self, life: Life, beta: float, t_end: float, expected: list[Merge],
        report: Callable[[float], None],
    ) -> None:  # fmt: skip
        self.life, self.beta, self.t_end = life, beta, t_end
        self.expected, self.report = expected, report
        self.steps: list[dict[str, Any]] = []
        self.why = ""

    def run(self) -> None:
        """Until one cluster is left, the time is over, or nothing more can be proved."""
        while len(self.life.groups) > 1 and not self._is_over():
            merge = self._next_merge()
            if merge is None:
                self.why = self.why or "no further merge is expected from a simulation"
                return
            t, s, u, way = merge
            if t > _PATIENT * float(self.life.time[1]):
                self._settle()
            if not self._merge(s, u, way):
                return
        self.why = ""

    def _is_over(self) -> bool:
        return float(self.life.time[0].lower()) >= self.t_end

    def _try(self, **step: Any) -> bool:
        """Take a step if it proves anything."""
        life = self.life
        place, groups = dict(life.place), {u: list(group) for u, group in life.groups.items()}
        low, high, time, pieces = list(life.low), list(life.high), life.time, len(life.pieces)
        try:
            follow(life, step)
        except RefusedError as error:
            life.place, life.groups, life.low, life.high = place, groups, low, high
            life.time, self.why = time, str(error)
            del life.pieces[pieces:]
            return False
        self.steps.append(step)
        self.report(float(life.time[0]))
        return True

    def _next_merge(self) -> tuple[float, int, int, float] | None:
        """The next merge that is expected: its time, the leaders, and the way between them."""
        for t, s, into in self.expected:
            if s not in self.life.groups:
                continue
            u = next(v for v, group in self.life.groups.items() if into in group)
            gap = float((self.life.place[u] - self.life.place[s]).mid())
            if u < s:
                return t, s, u, float(np.angle(np.exp(1j * gap)))
        return self._nearest()

    def _nearest(self) -> tuple[float, int, int, float] | None:
        """A merge after the end, whose leader shows how the time passes: the fastest one."""
        speeds = {u: float(self.life.speed(u, self.life.place).mid()) for u in self.life.groups}
        s = max(speeds, key=lambda u: abs(speeds[u]))
        sign = float(np.sign(speeds[s]))
        ways = []
        for u in self.life.groups:
            gap = float((self.life.place[u] - self.life.place[s]).mid())
            if u < s:
                ways.append(((sign * gap) % (2 * np.pi), u))
        if not ways or sign == 0.0:
            return None
        way, u = min(ways)
        return np.inf, s, u, sign * way

    def _settle(self) -> None:
        """Let all clusters become narrow."""
        for u, group in list(self.life.groups.items()):
            if len(group) > 1:
                any(self._shrink(u, 1, len(group) - 1, _SETTLED * 10.0**i) for i in range(4))

    def _careful(self, s: int) -> float:
        """A stride of s in which the others move by a small part of what changes their speed."""
        place = self.life.place
        speeds = {u: abs(float(self.life.speed(u, place).mid())) for u in place}
        fastest = max(speed for u, speed in speeds.items() if u != s)
        return _SLOWLY * speeds[s] / max(self.beta * fastest, 1e-300)

    def _merge(self, s: int, u: int, way: float) -> bool:
        """Follow the next merge: the clock, then both clusters as one."""
        start, sign = float(self.life.place[s].mid()), float(np.sign(way))
        done, whole, share = max(4 * float(self.life.place[s].rad()), 1e-9), abs(way), 1.0
        self._try(clock=s, to=(start + sign * done).hex())
        near, far = (whole - x / np.sqrt(self.beta) for x in (_NEAR, _FAR))
        while done < near and not self._is_over():
            left = min(whole - done, np.pi / 2)
            stride = _STRIDE / (self.beta * max(np.sin(left), 0.1))
            then = min(near, done + share * min(stride, self._careful(s)))
            if self._try(clock=s, to=float(start + sign * then).hex()):
                done, share = then, min(1.0, 1.5 * share)
            elif share > _LEAST:
                share /= 2
            elif done < far:
                return False
            else:
                break
        if self._is_over():
            return True
        first = sum(j < s for j in self.life.groups[u])
        return self._try(join=s, into=u) and self._gather(u, first)

    def _shrink(self, u: int, fixed: int, moving: int, to: float) -> bool:
        """Let the next tokens of a cluster come within a distance."""
        return self._try(shrink=u, fixed=fixed, moving=moving, to=float(to).hex())

    def _gather(self, u: int, first: int) -> bool:
        """Let tokens of two clusters come together, in groups as large as what pulls them."""
        fixed, moving, count = first, 1, len(self.life.groups[u])
        while fixed < count:
            moving = min(moving, count - fixed)
            if not self._shrink(u, fixed, moving, 0.9 * float(self.life.tokens.radius)):
                return False
            fixed, moving = fixed + moving, max(1, fixed)
        # Narrower, if that can be proved.
        any(self._shrink(u, first, count - first, _SETTLED * 10.0**i) for i in range(7))
        return True
