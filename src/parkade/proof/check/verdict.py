"""What a certificate proves: who leads when, and who joins whom."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from flint import arb, ctx

from parkade.proof.check.balls import BITS, Directions, Piece, RefusedError, require
from parkade.proof.check.gathering import Gathering
from parkade.proof.check.life import Life
from parkade.proof.check.points import Points, lack
from parkade.proof.check.sphere_gathering import SphereGathering
from parkade.proof.check.sphere_life import SphereLife

LASTING = 2.0
"""The factor of time for which the same tokens must lead at least, to be called a plateau."""

SAME = 1e-9  # claims may differ by this from what is proved here, by rounding of other versions


def check(
    data: dict[str, Any], report: Callable[[float], None] = lambda fraction: None
) -> dict[str, Any]:
    """What is proved; raises `RefusedError` if a certificate claims anything else."""
    return confirm(data, report)[0]


def confirm(
    data: dict[str, Any], report: Callable[[float], None] = lambda fraction: None
) -> tuple[dict[str, Any], list[Piece]]:
    """What is proved as `check` has it, and the pieces of time that it was concluded from."""
    try:
        pieces = prove(data, report)
        proved = conclude(pieces, float.fromhex(data["forming"]))
    except (KeyError, TypeError, ValueError, IndexError, ArithmeticError) as error:
        raise RefusedError(f"it cannot be read: {type(error).__name__}: {error}") from None
    for name, result in proved.items():
        require(_same(data.get(name), result), f"{name} are not what is proved")
    return proved, pieces


def prove(data: dict[str, Any], report: Callable[[float], None]) -> list[Piece]:
    """Follow all steps of a certificate."""
    ctx.prec = BITS
    circle, bits = len(data["tokens"][0]) == 2, int(data["bits"])
    gathering: Any = (
        Gathering(Directions(data), bits) if circle else SphereGathering(Points(data), bits)
    )
    count = len(data["gathering"]) + len(data["life"])
    for i, step in enumerate(data["gathering"]):
        gathering.take(step)
        report(i / count)
    if not data["clusters"]:
        pieces: list[Piece] = gathering.pieces
        return pieces
    life = (Life if circle else SphereLife)(gathering, _groups(data["clusters"]))
    for i, step in enumerate(data["life"]):
        follow(life, step)
        report((len(data["gathering"]) + i) / count)
    return finish(life, arb(float.fromhex(data["t_end"])))


def _groups(clusters: list[list[int]]) -> dict[int, list[int]]:
    """The tokens of each leader."""
    return {int(group[0]): list(group) for group in clusters}


def follow(life: Life | SphereLife, step: dict[str, Any]) -> None:
    """Follow a step after the gathering."""
    if "rest" in step and isinstance(life, SphereLife):
        life.rest(arb(float.fromhex(step["rest"])))
    elif "gather" in step and isinstance(life, SphereLife):
        life.gather(step["gather"], _groups(step["clusters"]))
    elif "clock" in step:
        life.clock(int(step["clock"]), arb(float.fromhex(step["to"])), *step.get("towards", ()))
    elif "join" in step:
        life.join(int(step["join"]), int(step["into"]))
    else:
        end = arb(float.fromhex(step["to"]))
        life.shrink(int(step["shrink"]), int(step["fixed"]), int(step["moving"]), end)


def finish(life: Life | SphereLife, end: arb) -> list[Piece]:
    """All pieces until the end; a single cluster stays as it is."""
    if len(life.groups) == 1:
        life.remain(end)
    begun = [arb(0), *(one.end for one in life.pieces)]
    pairs = zip(begun, life.pieces, strict=False)
    return [one._replace(end=one.end.min(end)) for start, one in pairs if start < end]


def conclude(pieces: list[Piece], forming: float) -> dict[str, Any]:
    """The plateaus and the merges between them, with times rounded to the safe side."""
    plateaus: list[dict[str, Any]] = []
    for piece in pieces:
        if not piece.end > forming:
            continue
        known = all(a != j for a, j in zip(piece.alone, piece.joined, strict=True))
        leaders = [k for k, alone in enumerate(piece.alone) if alone] if known else None
        if leaders is None or not plateaus or plateaus[-1]["leaders"] != leaders:
            plateaus.append(
                {"leaders": leaders, "first": piece, "start": max(_up(piece.start), forming)}
            )
        plateaus[-1] |= {"last": piece, "end": _down(piece.end)}
    plateaus = [
        one
        for one in plateaus
        if one["leaders"] is not None and one["end"] >= LASTING * one["start"]
    ]
    # Before a token leads that did not before, clusters are still forming.
    again = [i for i, (a, b) in enumerate(pairwise(plateaus)) if not _subset(b, a)]
    plateaus = plateaus[again[-1] + 1 :] if again else plateaus
    merges: list[dict[str, Any]] = []
    reported = plateaus[:1]
    for then in plateaus[1:]:
        now = reported[-1]
        gone = {s: _partner(s, then) for s in now["leaders"] if s not in then["leaders"]}
        if None not in gone.values():
            reported.append(then)
            merges += [
                {"absorbed": s, "into": u} | _when(s, now, then, pieces) for s, u in gone.items()
            ]
    return {
        "plateaus": [
            {"clusters": len(one["leaders"])} | {k: one[k] for k in ("leaders", "start", "end")}
            for one in reported
        ],
        "merges": sorted(merges, key=lambda merge: merge["latest"]),
        "until": max((one["end"] for one in reported), default=0.0),
    }


def _subset(then: dict[str, Any], now: dict[str, Any]) -> bool:
    return set(then["leaders"]) <= set(now["leaders"])


def _when(
    s: int, now: dict[str, Any], then: dict[str, Any], pieces: list[Piece]
) -> dict[str, float]:
    """Until when token s leads at least, and from when on it does not, between two plateaus."""
    first, last = (
        next(i for i, one in enumerate(pieces) if one is plateau["last"]) for plateau in (now, then)
    )
    between = pieces[first : last + 1]
    alone = next(i for i, one in enumerate(between) if not one.alone[s])
    joined = next(i for i, one in enumerate(reversed(between)) if not one.joined[s])
    earliest, latest = between[alone - 1].end, between[len(between) - joined].start
    return {"earliest": _down(earliest), "latest": _up(latest)}


def _partner(s: int, plateau: dict[str, Any]) -> int | None:
    """The leader that token s is nearest to at the end of a plateau; None if that is not known."""
    ranges, traps = plateau["last"].ranges, plateau["last"].traps
    leader, gap = traps.get(s, (s, arb(0)))
    near = {
        u: gap.cos() if u == leader else _cosine(ranges[s], ranges[u]) for u in plateau["leaders"]
    }
    best = max(near, key=lambda u: near[u].mid())
    return best if all(near[best] > near[u] for u in near if u != best) else None


def _cosine(one: Any, other: Any) -> arb:
    """The cosine of the angle between two tokens."""
    cosine: arb = (one - other).cos() if isinstance(one, arb) else 1 - lack(one, other)
    return cosine


def _down(time: arb) -> float:
    """A float64 that is certainly not above a time."""
    below = float(time.lower())
    if not arb(below) <= time:
        below = math.nextafter(below, 0.0)
    require(arb(below) <= time, "a time is not known")
    return below


def _up(time: arb) -> float:
    """A float64 that is certainly not below a time."""
    above = float(time.upper())
    if not arb(above) >= time:
        above = math.nextafter(above, math.inf)
    require(arb(above) >= time, "a time is not known")
    return above


def _same(claim: Any, result: Any) -> bool:
    """Whether a claim is what is proved, up to rounding."""
    if isinstance(result, dict):
        known = isinstance(claim, dict) and claim.keys() == result.keys()
        return known and all(_same(claim[name], result[name]) for name in result)
    if isinstance(result, list):
        known = isinstance(claim, list) and len(claim) == len(result)
        return known and all(map(_same, claim, result))
    if isinstance(result, float):
        return isinstance(claim, float) and abs(claim - result) <= SAME * abs(result)
    return type(claim) is type(result) and claim == result
