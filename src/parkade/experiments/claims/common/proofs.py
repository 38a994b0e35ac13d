"""Certificates of random starts, checked, and compared with runs, forecasts and Lemma 5.1.

Each start has two files: its certificate, and what was measured of it after the check. A start
with both is done, so a campaign that was interrupted goes on. If the certificate or the check has
changed since, it is checked again; and proved again if the check refuses it.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkade import theory
from parkade.base.errors import InputError, doubts_do_not_matter
from parkade.base.files import checksum, from_json, reading, to_json
from parkade.base.types import Array
from parkade.experiments.claims.common.promises import promises
from parkade.experiments.output import write
from parkade.model import sphere
from parkade.model.attention import Attention
from parkade.proof import check
from parkade.proof.certificate import Certificate, read
from parkade.proof.certify import certify
from parkade.runs.trajectory import Trajectory
from parkade.solve.simulate import simulate
from parkade.theory.merge_tree import MergeTree

END = 1e60

TOLERANCES = (1e-8, 1e-11)
"""Of the runs that certificates are compared with; the second decides if the first is outside."""

ERRORS = 100.0
"""The relative error of merge times that a run may have, in units of its tolerance. With the
tolerances 1e-6 to 1e-11 it was at most 9 in three starts (n = 20, 50, 100), beside one of 1e-12."""

_STREAM = 35  # of random numbers; no other experiment uses it


@dataclass(frozen=True)
class Start:
    """A random start: n tokens on the circle, β, its number, and the seed of the experiment."""

    n: int
    beta: float
    index: int
    seed: int

    @property
    def name(self) -> str:
        """The beginning of the names of its files."""
        return f"n{self.n}-beta{self.beta:g}-{self.index:02d}-seed{self.seed}"

    def tokens(self) -> Array:
        """The tokens, uniform on the circle."""
        rng = np.random.default_rng([self.seed, _STREAM, self.n, int(self.beta), self.index])
        return sphere.uniform(self.n, 2, rng)


def examine(start: Start, folder: Path | None) -> dict[str, Any]:
    """Prove what happens from a start, check the proof, and measure; the files are in a folder."""
    if folder is None:
        return measured(start, _certificate(start).data)
    proof, result = (folder / f"{start.name}{end}.json" for end in ("", "-measured"))
    stored = proof.exists()
    if not stored:
        _certificate(start).save(proof)
    if result.exists():
        with reading(result, "a measured certificate", "; delete it to measure again"):
            row = from_json(result.read_bytes())
        if row["of"] == _mark(proof):
            return row
    row = measured(start, read(proof))
    if stored and row["refused"]:
        _certificate(start).save(proof)
        row = measured(start, read(proof))
    row["of"] = _mark(proof)
    write(result, to_json(row))
    return row


def _mark(proof: Path) -> str:
    """A checksum of a certificate and of the code of the check."""
    code = sorted(Path(check.__file__).parent.glob("*.py"))
    return checksum(b"".join(path.read_bytes() for path in (proof, *code)))


def _certificate(start: Start) -> Certificate:
    """A new certificate, with the seconds of CPU time that it took."""
    begun = time.thread_time()
    certificate = certify(start.tokens(), start.beta, END)
    certificate.data["seconds"] = time.thread_time() - begun
    return certificate


def measured(start: Start, data: dict[str, Any]) -> dict[str, Any]:
    """Check a certificate of this start, and compare it with all else that is known."""
    from parkade.proof.check.balls import Directions, RefusedError
    from parkade.proof.check.verdict import confirm

    x0 = start.tokens()
    places = np.array([[float.fromhex(number) for number in row] for row in data["tokens"]])
    same = places.shape == x0.shape and np.allclose(places, x0, rtol=0, atol=1e-14)
    if not (same and data["beta"] == start.beta.hex() and data["t_end"] == END.hex()):
        raise InputError(f"the certificate {start.name} is of another start; delete it")
    begun = time.thread_time()
    try:
        proved, pieces = confirm(data)
    except RefusedError as error:
        return {**asdict(start), "refused": str(error)}
    seconds = time.thread_time() - begun
    certificate = Certificate.of(data | proved)
    outside, run = against_run(certificate, x0)
    return {
        **asdict(start),
        "refused": "",
        "until": certificate.until,
        "why": certificate.why,
        "seconds": {"proof": data["seconds"], "check": seconds},
        "plateaus": [[one.clusters, one.start, one.end] for one in certificate.plateaus],
        "leaders": list(certificate.plateaus[0].leaders) if certificate.plateaus else [],
        "outside": outside,
        "merges": merges(certificate, run, x0),
        "promises": promises(x0, start.beta, Directions(data).angles, pieces),
    }


def against_run(certificate: Certificate, x0: Array) -> tuple[list[str], Trajectory]:
    """What a run contradicts in a certificate, and the run; a strict one if it is needed."""
    model = Attention(2, certificate.beta)
    for tol in TOLERANCES:
        run = simulate(model, x0, certificate.t_end, times="steps", tol=tol)
        outside = contradictions(certificate, run, ERRORS * tol)
        if not outside:
            break
    return outside, run


def contradictions(certificate: Certificate, run: Trajectory, slack: float) -> list[str]:
    """Claims that are not so in a run whose times are right up to this relative error."""
    claims: list[tuple[float, str, list[int], list[int]]] = []
    everyone = range(certificate.n)
    for one in certificate.merges:
        name = f"token {one.absorbed}"
        claims.append((one.earliest * (1 - slack), f"{name} leads", [one.absorbed], []))
        claims.append((one.latest * (1 + slack), f"{name} is joined", [], [one.absorbed]))
    for state in certificate.plateaus:
        others = [k for k in everyone if k not in state.leaders]
        middle = float(np.sqrt(state.start * state.end))
        claims.append((middle, f"{state.clusters} clusters", [*state.leaders], others))
    times = np.array([min(t, run.times[-1]) for t, *_ in claims])
    if not len(times):
        return []
    leads = leading(run.at(times), certificate.radius)
    return [
        f"{name} at t = {t:.10g}"
        for (t, name, alone, joined), now in zip(claims, leads, strict=True)
        if not now[alone].all() or now[joined].any()
    ]


def leading(places: Array, radius: float) -> NDArray[np.bool_]:
    """Whether no earlier token is within the radius of each token, for places (times, n, 2)."""
    angles = sphere.angles(places)
    gaps = np.abs(np.angle(np.exp(1j * (angles[:, :, None] - angles[:, None, :]))))
    n = places.shape[1]
    gaps[:, np.triu(np.ones((n, n), dtype=bool))] = np.inf
    result: NDArray[np.bool_] = gaps.min(axis=2) > radius
    return result


def merges(certificate: Certificate, run: Trajectory, x0: Array) -> list[dict[str, Any]]:
    """The proved merges, beside the simulated ones, the forecast and the law of pairs."""
    trees = {"simulated": run.merge_tree(radius=certificate.radius)}
    with doubts_do_not_matter():
        trees["forecast"] = theory.forecast(x0, certificate.beta)
        trees["pairs"] = theory.forecast(x0, certificate.beta, pull="nearest")
    return [
        {
            "absorbed": one.absorbed,
            "into": one.into,
            "bounds": [one.earliest, one.latest],
            **{name: _fate(tree, one.absorbed) for name, tree in trees.items()},
        }
        for one in certificate.merges
    ]


def _fate(tree: MergeTree, token: int) -> list[float] | None:
    """When a token arrives and where; None if it never does."""
    return next(([e.time, e.into] for e in tree.events if e.absorbed == token), None)
