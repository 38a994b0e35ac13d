"""Choose the steps of a proof after the gathering; the checker decides what each of them proves.

Nothing here has to be right: a wrong guess proves less.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from parkade.proof.check.balls import RefusedError
from parkade.proof.check.life import Life
from parkade.proof.check.verdict import follow
from parkade.proof.watershed import watershed

APART = 3.0
"""Merges with a smaller ratio of times may overlap."""

_STRIDE = 0.2  # by how much an exponent changes while a leader makes a step
_SLOWLY = 0.03  # by how much, while the others move meanwhile
_LEAST = 0.02  # the smallest share of a stride that is tried
_VAGUE = 0.3  # by how much the exponent of a leader may be unknown when it begins to merge
_NEAR, _FAR = 2.2, 5.0  # the distances at which two clusters become one, in units of 1/√β
_SETTLED = 1e-8  # the width to which clusters shrink if there is time
_PATIENT = 30.0  # the factor of time until the next merge, if there is

Merge = tuple[float, int, int]
"""An expected merge: its time, the token whose cluster joins another, and into which."""


class Planner:
    """Chooses the steps of the life after the gathering, one after the other."""

    def __init__(
        self, life: Life, before: dict[str, Any], t_end: float, expected: list[Merge], overlap: bool
    ) -> None:
        self.life, self.beta, self.t_end = life, float(life.tokens.beta), t_end
        self.expected, self.overlap = expected, overlap
        self.steps: list[dict[str, Any]] = []
        self.data = before | {"life": self.steps}
        # Clusters whose tokens still come together: how many had at first, and how many have now.
        self.meeting: dict[int, tuple[int, int]] = {}
        self.why = ""

    def run(self, report: Callable[[float], None]) -> None:
        """Until one cluster is left, the time is over, or nothing more can be proved."""
        while len(self.life.groups) > 1 and not self._is_over():
            merges = self._merges()
            merge = merges[0] if merges else self._nearest()
            if merge is None:
                self.why = self.why or "no further merge is expected from a simulation"
                return
            report(float(self.life.time[0]))
            if self.overlap:
                # An earlier token does not depend on later ones: the better clock.
                merge = min((one for one in merges if one[0] < APART * merge[0]), default=merge,
                            key=lambda one: one[1])  # fmt: skip
            t, s, u, way = merge
            if t > _PATIENT * float(self.life.time[1]):
                self._settle()
            if not self._merge(s, u, way):
                places = self.life.ranges(self.life.place)
                radius = float(self.life.tokens.radius)
                self.why = watershed(self.life.groups, places, self.beta, radius) or self.why
                return
        self.why = ""

    def _is_over(self) -> bool:
        return float(self.life.time[0].lower()) >= self.t_end

    def _state(self) -> Any:
        """What `_restore` needs to come back to where the proof is now."""
        life = self.life
        groups = {u: list(group) for u, group in life.groups.items()}
        clusters = dict(life.place), groups, list(life.low), list(life.high)
        return clusters, life.time, len(life.pieces), len(self.steps), dict(self.meeting)

    def _restore(self, state: Any) -> None:
        life = self.life
        clusters, life.time, pieces, steps, self.meeting = state
        life.place, life.groups, life.low, life.high = clusters
        del life.pieces[pieces:], self.steps[steps:]

    def _try(self, **step: Any) -> bool:
        """Take a step if it proves anything."""
        state = self._state()
        try:
            follow(self.life, step)
        except RefusedError as error:
            self._restore(state)
            self.why = str(error)
            return False
        self.steps.append(step)
        return True

    def _merges(self) -> list[tuple[float, int, int, float]]:
        """The merges that are expected: their times, the leaders, and the ways between them."""
        merges = []
        for t, s, into in self.expected:
            u = next(v for v, group in self.life.groups.items() if into in group)
            if s in self.life.groups and u < s:
                gap = float((self.life.place[u] - self.life.place[s]).mid())
                merges.append((t, s, u, float(np.angle(np.exp(1j * gap)))))
        return merges

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
        slowly = _SLOWLY / 5 if self.overlap else _SLOWLY
        return slowly * speeds[s] / max(self.beta * fastest, 1e-300)

    def _merge(self, s: int, u: int, way: float) -> bool:
        """Follow the next merge: the clock, then both clusters as one."""
        sign, share = float(np.sign(way)), 1.0
        near, far = (x / np.sqrt(self.beta) for x in (_NEAR, _FAR))
        alone = self._state()
        while (left := self._left(s, u, sign)) > 1.001 * near and not self._is_over():
            self._begin_others(s)
            place = self.life.place[s]
            here, width = float(place.mid()), float(place.rad())
            # From a place that is known exactly, the time of a passage is known best.
            first = here + sign * max(4 * width, 1e-9)
            if width > 0 and self._try(clock=s, to=first.hex()):
                here = first
            stride = _STRIDE / (self.beta * max(np.sin(min(left, np.pi / 2)), 0.1))
            stride = share * min(stride, self._careful(s))
            if self._try(clock=s, to=float(here + sign * min(left - near, stride)).hex()):
                share, alone = min(1.0, 1.5 * share), self._state()
            elif share > _LEAST:
                share /= 2
            elif not self._begin_another(s):
                self._restore(alone)
                break
        if self._is_over():
            return True
        if left > far and not self.overlap:
            return False
        alone, why = self._state(), self.why
        if self._join(s, u) and self._meet():
            return True
        self._restore(alone)
        self.why = why if left > 1.001 * near else self.why
        return False

    def _left(self, s: int, u: int, sign: float) -> float:
        """How far a leader is from another one, in the direction in which it moves."""
        way = sign * float((self.life.place[u] - self.life.place[s]).mid())
        return float((way + 1e-6) % (2 * np.pi) - 1e-6)

    def _begin_others(self, clock: int) -> None:
        """Let merges begin that may overlap with that of the clock, once it is time for them."""
        for t, s, u, way in self._merges():
            near = abs(way) * np.sqrt(self.beta) < _NEAR
            if self.overlap and s != clock and self._is_soon(t) and (near or self._is_vague(s)):
                self._join(s, u)
                alone = self._state()
                while u in self.meeting and self._closer(u):
                    pass
                if self._is_vague(clock) or u in self.meeting:
                    self._restore(alone)
                return

    def _is_vague(self, s: int) -> bool:
        return self.beta * float(self.life.place[s].rad()) > _VAGUE

    def _begin_another(self, clock: int = 0) -> bool:
        """Let another merge that may overlap begin: from now on both its clusters are one."""
        merges = (one for one in self._merges() if one[1] != clock)
        other = next(merges, None)
        soon = self.overlap and other is not None and self._is_soon(other[0])
        return other is not None and soon and self._join(other[1], other[2])

    def _is_soon(self, t: float) -> bool:
        return t < APART * float(self.life.time[1])

    def _join(self, s: int, u: int) -> bool:
        """Take two clusters as one, whose tokens from s on have to come together."""
        _, fixed = self.meeting.get(u, (0, len(self.life.groups[u])))
        first = sum(j < s for j in self.life.groups[u][:fixed])
        if not self._try(join=s, into=u):
            return False
        self.meeting.pop(s, None)
        self.meeting[u] = first, first
        return True

    def _shrink(self, u: int, fixed: int, moving: int, to: float) -> bool:
        """Let the next tokens of a cluster come within a distance."""
        return self._try(shrink=u, fixed=fixed, moving=moving, to=float(to).hex())

    def _meet(self) -> bool:
        """Let all tokens of merging clusters come together, in groups as large as what pulls."""
        while self.meeting:
            closer = [self._closer(u) for u in list(self.meeting)]
            if not any(closer) and not self._begin_another():
                return False
        return True

    def _closer(self, u: int) -> bool:
        """Let the next tokens of a cluster come close, and then all come closer, if provable."""
        first, fixed = self.meeting[u]
        count = len(self.life.groups[u])
        moving = 1 if fixed == first else min(fixed, count - fixed)
        if not self._shrink(u, fixed, moving, 0.9 * float(self.life.tokens.radius)):
            return False
        self.meeting[u] = first, fixed + moving
        if fixed + moving == count:
            del self.meeting[u]
            any(self._shrink(u, first, count - first, _SETTLED * 10.0**i) for i in range(7))
        return True
