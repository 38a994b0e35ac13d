"""Find the steps of a proof of merges on a sphere; the checker decides whether they prove anything.

Nothing here has to be right: a wrong guess proves less.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from flint import arb

from parkade.base.types import Array
from parkade.proof.check.balls import Piece, RefusedError
from parkade.proof.check.points import Points
from parkade.proof.check.sphere_gathering import SphereGathering
from parkade.proof.check.sphere_life import SphereLife
from parkade.proof.check.verdict import finish
from parkade.proof.planner import Merge
from parkade.proof.sphere_planner import SpherePlanner
from parkade.proof.sphere_steps import BITS, advance, clusters

_WORK, _LATEST = 4e6, 3e4  # the most n²t and t of the gathering
_FIRST = 10.0  # the shortest gathering
_FAR = 3.0  # the factor of time until the next merge when the gathering ends


class SphereProof:
    """Adds the steps of a proof to the data of a certificate, for tokens on a sphere."""

    def __init__(
        self, data: dict[str, Any], expected: list[Merge], report: Callable[[float], None]
    ) -> None:
        self.data, self.expected = data, expected
        self.beta, self.t_end = float.fromhex(data["beta"]), float.fromhex(data["t_end"])
        self.gathering = SphereGathering(Points(data), BITS)
        self.steps: list[dict[str, Any]] = []
        self.pieces, self.why = self.gathering.pieces, ""
        self._report, self._furthest = report, 0.0

    def run(self) -> list[Piece]:
        """What is proved, piece by piece; `why` says why it ends early, if it does."""
        tokens = np.array([[float.fromhex(c) for c in row] for row in self.data["tokens"]])
        longest, after = min(_LATEST, _WORK / len(tokens) ** 2), 0.0
        while after <= longest:
            tokens, groups, why = self._gather(tokens, after, longest)
            if groups is None:
                if not self.data["clusters"]:
                    self.data["gathering"], self.why = self.steps, why
                break
            life = SphereLife(self.gathering, {group[0]: list(group) for group in groups})
            planner = SpherePlanner(life, self.t_end, self.expected, self.report)
            planner.run()
            self.pieces, self.why = finish(life, arb(self.t_end)), planner.why
            self.data |= {
                "gathering": list(self.steps), "clusters": groups, "life": planner.steps,
            }  # fmt: skip
            if not self.why:
                break
            reached = float(life.time[1])
            after = next((t for t, *_ in self.expected if t > 0.9 * reached), np.inf)
        return self.pieces

    def report(self, t: float) -> None:
        """Say how far the proof is; it may begin again, but that is not shown."""
        self._furthest = max(self._furthest, t)
        self._report(self._furthest)

    def _gather(
        self, tokens: Array, after: float, longest: float
    ) -> tuple[Array, list[list[int]] | None, str]:
        """Follow all tokens until they are in clusters; if they are not in the end, say why."""
        while True:
            try:
                step, tokens = advance(self.gathering, tokens, self.beta)
            except RefusedError as error:
                return tokens, None, str(error)
            self.steps.append(step)
            t = float(self.gathering.time[1])
            self.report(t)
            if t >= self.t_end:
                return tokens, None, ""
            groups = clusters(self.gathering, tokens) if t > max(after, _FIRST) else None
            soon = next((one for one, *_ in self.expected if one > t), np.inf)
            if groups is not None and (soon > _FAR * t or t > longest):
                return tokens, groups, ""
            if t > 2 * longest:
                return tokens, None, "tokens are not in narrow clusters yet"
