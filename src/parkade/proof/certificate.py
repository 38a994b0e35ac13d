"""`Certificate`: what is proved of the life of the clusters of one start, and the proof."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Any

from parkade.base.errors import InputError, ParkadeError
from parkade.base.files import atomic_write
from parkade.runs.path import Path

FORMAT = "parkade certificate 1"


@dataclass(frozen=True)
class ProvedMerge:
    """A merge between two plateaus, with bounds of its time that are proved.

    Attributes
    ----------
    absorbed : int
        The token whose cluster joins another.
    into : int
        The leader that it is nearest to when the next plateau ends.
    earliest, latest : float
        From the previous plateau until `earliest` token `absorbed` is farther than the radius from
        all earlier tokens; from `latest` on, through the next plateau, it is nearer to one of them.

    Examples
    --------
    >>> import parkade as pk
    >>> certificate = pk.certify(pk.sphere.from_angles([0.0, 1.0]), beta=16.0, t_end=1e6)
    >>> certificate.merges[0].absorbed
    1
    """

    absorbed: int
    into: int
    earliest: float
    latest: float


@dataclass(frozen=True)
class ProvedPlateau:
    """A time in which the same tokens lead, proved.

    Attributes
    ----------
    clusters : int
        The number of clusters.
    leaders : tuple of int
        The tokens that are farther than the radius from all earlier ones; all others are nearer.
    start, end : float
        The time during which this is proved.

    Examples
    --------
    >>> import parkade as pk
    >>> certificate = pk.certify(pk.sphere.from_angles([0.0, 1.0]), beta=16.0, t_end=1e6)
    >>> [state.clusters for state in certificate.plateaus]
    [2, 1]
    """

    clusters: int
    leaders: tuple[int, ...]
    start: float
    end: float


@dataclass(frozen=True, eq=False)
class Certificate:
    """What `parkade.certify` has proved, and the proof.

    Attributes
    ----------
    merges : tuple of ProvedMerge
        By their `latest` times.
    plateaus : tuple of ProvedPlateau
        Those that last at least twice as long as it took to reach them.
    until : float
        The time until which clusters are known.
    why : str
        Why nothing is proved after that; empty if it is the end.
    data : dict
        The certificate as it is written to a file.

    Examples
    --------
    >>> import parkade as pk
    >>> x0 = pk.sphere.from_angles([0.0, 1.0])
    >>> certificate = pk.certify(x0, beta=16.0, t_end=1e6)
    >>> merge, = certificate.merges
    >>> merge.absorbed, merge.into, merge.earliest < 160 < merge.latest
    (1, 0, True)
    """

    merges: tuple[ProvedMerge, ...]
    plateaus: tuple[ProvedPlateau, ...]
    until: float
    why: str
    data: dict[str, Any]

    @classmethod
    def of(cls, data: dict[str, Any]) -> Certificate:
        """The certificate with this content, which must have been checked."""
        return cls(
            tuple(ProvedMerge(**merge) for merge in data["merges"]),
            tuple(
                ProvedPlateau(**{**one, "leaders": tuple(one["leaders"])})
                for one in data["plateaus"]
            ),
            data["until"],
            data["why"],
            data,
        )

    @property
    def n(self) -> int:
        """Number of tokens n."""
        return len(self.data["tokens"])

    @property
    def beta(self) -> float:
        """Inverse temperature β > 0."""
        return float.fromhex(self.data["beta"])

    @property
    def t_end(self) -> float:
        """The time until which clusters were to be known."""
        return float.fromhex(self.data["t_end"])

    @property
    def radius(self) -> float:
        """The angle within which tokens are merged."""
        return float.fromhex(self.data["radius"])

    @property
    def events(self) -> tuple[tuple[ProvedMerge, ...], ...]:
        """The merges in order; those whose bounds overlap, so that it is unknown, are one event."""
        events: list[tuple[ProvedMerge, ...]] = []
        for merge in sorted(self.merges, key=lambda merge: merge.earliest):
            if events and merge.earliest < max(one.latest for one in events[-1]):
                events[-1] += (merge,)
            else:
                events.append((merge,))
        return tuple(events)

    def agrees(self, run: Path) -> bool:
        """Whether a run has all proved merges within their bounds, up to the error of the run.

        Times of runs are right to about 1e-5 with the default tolerance, so bounds are widened by
        that.
        """
        seen = {one.absorbed: one.time for one in run.merge_tree(radius=self.radius).events}
        return all(
            one.earliest * (1 - RUN_ERROR) <= seen.get(one.absorbed, -1.0)
            and seen[one.absorbed] <= one.latest * (1 + RUN_ERROR)
            for one in self.merges
        )

    def to_dict(self) -> dict[str, Any]:
        """The claims: merges, plateaus, and until when clusters are known."""
        names = ("n", "beta", "t_end", "radius", "until", "why")
        return {name: getattr(self, name) for name in names} | {
            name: self.data[name] for name in ("plateaus", "merges")
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate with its proof to a JSON file, atomically."""
        with atomic_write(path) as file:
            file.write(json.dumps(self.data).encode())

    def __str__(self) -> str:
        lines = [
            f"Proved for {self.n} tokens with β = {self.beta:g}, from t = 0 to "
            f"{_rounded(self.until, 4, ROUND_FLOOR)}",
            "",
            f"{'clusters':>8}  {'from':>10}  {'to':>10}  leaders",
        ]
        for state in self.plateaus:
            leaders = ", ".join(map(str, state.leaders))
            start = _rounded(state.start, 4, ROUND_CEILING)
            end = _rounded(state.end, 4, ROUND_FLOOR)
            lines.append(f"{state.clusters:8d}  {start:>10}  {end:>10}  {leaders}")
        rows = [
            (
                ", ".join(str(merge.absorbed) for merge in event),
                ", ".join(str(merge.into) for merge in event),
                f"{_rounded(min(merge.earliest for merge in event), 6, ROUND_FLOOR):>12}",
                f"{_rounded(max(merge.latest for merge in event), 6, ROUND_CEILING):>12}",
            )
            for event in self.events
        ]
        widths = [max([least, *(len(row[i]) for row in rows)]) for i, least in ((0, 8), (1, 10))]
        lines.append("")
        lines += [
            f"{cluster:>{widths[0]}}  {into:>{widths[1]}}  {earliest}  {latest}"
            for cluster, into, earliest, latest in [
                ("cluster", "joins", f"{'not before':>12}", f"{'by':>12}"), *rows
            ]
        ]  # fmt: skip
        if any(len(event) > 1 for event in self.events):
            lines += ["", "Clusters in one line merge at about the same time, in any order."]
        if self.why:
            lines += ["", f"Nothing is proved after that: {self.why}."]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Certificate({self.n} tokens, {len(self.merges)} merges, t=0…{self.until:g})"


def checked(
    data: dict[str, Any], report: Callable[[float], None] = lambda fraction: None
) -> Certificate:
    """The certificate with this content, if it proves what it claims."""
    from parkade.proof.needed import flint

    flint()
    from parkade.proof.check.balls import RefusedError
    from parkade.proof.check.verdict import check

    try:
        proved = check(data, report)
    except RefusedError as error:
        raise ParkadeError(f"the certificate is refused: {error}") from None
    return Certificate.of(data | proved)


def _rounded(bound: float, digits: int, rounding: str) -> str:
    """A bound with a number of digits, rounded to the safe side.

    It is taken as Python writes it, so that 1e60 is 1e60, which is no float64.
    """
    written = Context(prec=digits, rounding=rounding).create_decimal(repr(bound))
    return f"{float(written):.{digits}g}"


RUN_ERROR = 1e-5
"""The relative error of merge times of runs with the default tolerance."""


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The content of a file with a certificate, not yet checked."""
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except ValueError:
        data = None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InputError(f"{path} is not a certificate written by parkade certify -o FILE")
    return data
