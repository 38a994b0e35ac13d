"""Choose the steps of a proof on a sphere after the gathering.

Nothing here has to be right: a wrong guess proves less.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from parkade.base.types import Array
from parkade.proof.check.balls import RefusedError
from parkade.proof.check.sphere_life import SphereLife
from parkade.proof.check.verdict import follow
from parkade.proof.planner import Merge
from parkade.proof.sphere_steps import advance, clusters

_STRIDE = 0.2  # by how much an exponent changes while a leader makes a step
_SLOWLY = 0.03  # by how much, while the others move meanwhile
_LEAST = 0.02  # the smallest share of a stride that is tried
_NEAR = 2.2  # the distance at which two clusters become one, in units of 1/√β
_NARROW = 0.01  # traps from which all tokens are followed if they are too wide later
_SHARP = 1e-4  # and how much is unknown of the places of leaders then
_SETTLED = 1e-8  # the width to which clusters shrink if there is time
_PATIENT = 30.0  # the factor of time until the next merge, if there is
_APART = 1.5  # merges with a smaller ratio of times are followed in steps of the gathering
_FOLLOWED = 3000  # the most such steps
_FAST = 3000.0  # in this time it is sure that they suffice; steps are long without followers
_KNOWN = 0.03  # the most that is unknown of the place of a leader
_RESTS = 300  # the most steps in which only time passes


class SpherePlanner:
    """Chooses the steps of the life after the gathering, one after the other."""

    def __init__(
        self, life: SphereLife, t_end: float, expected: list[Merge],
        report: Callable[[float], None],
    ) -> None:  # fmt: skip
        self.life, self.beta, self.t_end = life, float(life.tokens.beta), t_end
        self.expected, self.report = expected, report
        self.steps: list[dict[str, Any]] = []
        self.why = ""

    def run(self) -> None:
        """Until one cluster is left, the time is over, or nothing more can be proved."""
        while len(self.life.groups) > 1 and not self._is_over():
            merge = self._expected_merge()
            if merge is None:
                self._wait()
                break
            t, s, u = merge
            if t > _PATIENT * float(self.life.time[1]):
                self._settle()
            if not self._unite(s, u, t):
                why = self.why
                self._rest()
                self.why = why
                return
        self.why = "" if len(self.life.groups) == 1 or self._is_over() else self.why

    def _is_over(self) -> bool:
        return float(self.life.time[0].lower()) >= self.t_end

    def _state(self) -> dict[str, Any]:
        """The life as it is now."""
        shared = ("tokens", "bits")
        return {name: copy(x) for name, x in vars(self.life).items() if name not in shared}

    def _restore(self, state: dict[str, Any]) -> None:
        vars(self.life).update(state)

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
        self.report(float(self.life.time[0]))
        return True

    def _expected_merge(self) -> tuple[float, int, int] | None:
        """The next merge that is expected: its time, and the leaders."""
        for t, s, into in self.expected:
            if s in self.life.groups:
                u = next(v for v, group in self.life.groups.items() if into in group)
                if u < s:
                    return t, s, u
        return None

    def _place(self, u: int) -> Array:
        return np.array([float(x.mid()) for x in self.life.place[u].parts])

    def _blur(self) -> float:
        """How much is unknown of the places of leaders."""
        return max(float(x.rad()) for box in self.life.place.values() for x in box.parts)

    def _speeds(self) -> dict[int, Array]:
        place = self.life.place
        return {
            u: np.array([float(x.mid()) for x in self.life.speed(u, place).parts]) for u in place
        }

    def _wait(self) -> None:
        """Let time pass until the end, by the way of the fastest leader if it moves far."""
        speeds = self._speeds()
        s = max(speeds, key=lambda u: float(np.linalg.norm(speeds[u])))
        if s > 0:
            earlier = [u for u in speeds if u < s]
            u = max(earlier, key=lambda u: float(self._place(u) @ self._place(s)))
            self._approach(s, u)
        self._rest()
        self.why = "no further merge is expected from a simulation"

    def _rest(self) -> None:
        """Let time pass, as long as it is known who leads."""
        for _ in range(_RESTS):
            if self._is_over() or self._blur() > _KNOWN:
                return
            fastest = max(float(np.linalg.norm(v)) for v in self._speeds().values())
            left = 1.01 * (self.t_end - float(self.life.time[0].lower()))
            time = min(left, _STRIDE / (self.beta * max(fastest, 1e-300)))
            if not any(self._try(rest=(time * share).hex()) for share in (1.0, 0.25, 0.06)):
                return

    def _unite(self, s: int, u: int, t: float) -> bool:
        """Follow the next merge: the clock, then both clusters as one, or all tokens."""
        together, short = self._soon(s, t), t - float(self.life.time[1]) < _FAST
        few = len(self.life.groups) == self.life.tokens.n
        if together and (short or few) and self._follow():
            return True
        early = self._approach(s, u)
        if self._is_over():
            return True
        late, count = self._state(), len(self.steps)
        first = sum(j < s for j in self.life.groups[u])
        if not together and self._try(join=s, into=u) and self._gather(u, first):
            return True
        for state, steps in ((late, count), early):
            self._restore(state)
            del self.steps[steps:]
            if self._follow():
                return True
        return False

    def _approach(self, s: int, u: int) -> tuple[dict[str, Any], int]:
        """Let the clock come near; what was known when traps were narrow, for the last time."""
        axis = self._place(u)
        axis /= np.linalg.norm(axis)
        towards = [float(c).hex() for c in axis]
        blur = sum(float(x.rad()) for x in self.life.place[s].parts)
        done, share = float(axis @ self._place(s)), 1.0
        done += max(4 * blur, 1e-9)
        self._try(clock=s, to=done.hex(), towards=towards)
        near, early = np.cos(_NEAR / np.sqrt(self.beta)), (self._state(), len(self.steps))
        while done < near and not self._is_over():
            stride = min(_STRIDE / self.beta, self._stride(s, axis))
            then = float(min(near, done + share * stride))
            if self._try(clock=s, to=then.hex(), towards=towards):
                done, share = then, min(1.0, 1.5 * share)
            elif share > _LEAST:
                share /= 2
            else:
                break
            if self._blur() > _KNOWN:
                break
            if max(map(float, self.life.trap)) < _NARROW and self._blur() < _SHARP:
                early = self._state(), len(self.steps)
        return early

    def _soon(self, s: int, t: float) -> bool:
        """Whether another merge is expected so soon that both may overlap."""
        others = [one for one, v, _ in self.expected if v in self.life.groups and v != s]
        return any(t / _APART < one < _APART * t for one in others)

    def _follow(self) -> bool:
        """Follow all tokens, until they are in clusters and the next merge is far away."""
        if self._blur() > _KNOWN:
            self.why = "two leaders move at the same time"
            return False
        gathering, steps = self.life.scatter(), list[dict[str, Any]]()
        tokens = np.array([[float(x.mid()) for x in end.parts] for end in gathering.ends])
        while len(steps) < _FOLLOWED:
            try:
                step, tokens = advance(gathering, tokens, self.beta)
            except RefusedError as error:
                self.why = str(error)
                return False
            steps.append(step)
            t = float(gathering.time[1])
            self.report(t)
            groups = clusters(gathering, tokens)
            if groups is not None and (len(groups) < len(self.life.groups)):
                leaders = {group[0] for group in groups}
                if not any(one < _APART * t for one, v, _ in self.expected if v in leaders):
                    return self._try(gather=steps, clusters=groups)
        self.why = "tokens are not in narrow clusters yet"
        return False

    def _stride(self, s: int, axis: Array) -> float:
        """A stride of s in which the others move by a small part of what changes their speed."""
        speeds = self._speeds()
        pace = abs(float(axis @ speeds[s]))
        fastest = max(float(np.linalg.norm(v)) for u, v in speeds.items() if u != s)
        return _SLOWLY * pace / max(self.beta * fastest, 1e-300)

    def _settle(self) -> None:
        """Let all clusters become narrow."""
        for u, group in list(self.life.groups.items()):
            if len(group) > 1:
                any(self._shrink(u, 1, len(group) - 1, _SETTLED * 10.0**i) for i in range(4))

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
