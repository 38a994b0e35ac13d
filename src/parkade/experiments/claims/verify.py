"""`verify`: run experiments side by side, and gather what they say."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parkade.base import check
from parkade.base.errors import ParkadeError
from parkade.base.files import atomic_write, directory
from parkade.base.progress import Report, bar
from parkade.experiments.claims.claim import Claim, Effort, Evidence
from parkade.experiments.claims.registry import CLAIMS


@dataclass(frozen=True)
class Result:
    """A claim, the evidence, and the seconds it took to gather."""

    claim: Claim
    evidence: Evidence
    seconds: float
    paths: tuple[Path, ...] = ()
    """Files of its figure."""

    def to_dict(self) -> dict[str, Any]:
        """Everything but the arrays, for JSON."""
        return {
            "claim": self.claim.name,
            "title": self.claim.title,
            "status": self.claim.status,
            "prediction": self.claim.prediction,
            "measured": self.evidence.measured,
            "verdict": self.evidence.verdict,
            "false_alarm": self.evidence.false_alarm,
            "seconds": self.seconds,
            "numbers": dict(self.evidence.numbers),
            "figures": [str(path) for path in self.paths],
        }


def verify(
    names: str | Sequence[str] | None = None,
    *,
    quick: bool = False,
    seed: int = 0,
    output: str | os.PathLike[str] | None = None,
    progress: bool = False,
    report: Report | None = None,
) -> list[Result]:
    """Put claims to the test.

    Parameters
    ----------
    names : str, sequence of str or None
        Keys of `parkade.claims.CLAIMS`; None takes them all.
    quick : bool
        Take smaller samples: all claims in less than a minute.
    seed : int
        Same seed, same results.
    output : path, optional
        Directory for a figure of each claim (.png and .pdf) and for `verdicts.json`; it is
        made if it is not there.
    progress : bool
        Show a progress bar on standard error.
    report : function, optional
        Called with the fraction done instead, if you show progress yourself.

    Returns
    -------
    list of Result, in the order of the names.

    Examples
    --------
    >>> from parkade.experiments.claims import verify
    >>> [result.evidence.verdict for result in verify("lemma-c.1", quick=True)]
    ['agrees']
    """
    claims = check.chosen("the claim", names, CLAIMS)
    check.generator(seed)
    folder = None if output is None else directory(output)
    done = [0.0] * len(claims)
    cancelled = threading.Event()

    with bar(f"verifying {len(claims)} claims", show=progress, instead=report) as move:

        def run(i: int) -> Result:
            def note(fraction: float) -> None:
                if cancelled.is_set():
                    raise ParkadeError("cancelled")
                done[i] = fraction
                move(sum(done) / len(done))

            note(0.0)
            begun = time.perf_counter()
            evidence = claims[i].measure(Effort(quick, seed, note))
            seconds = time.perf_counter() - begun
            note(1.0)
            return Result(claims[i], evidence, seconds, _draw(claims[i], evidence, folder))

        # Two at a time: while one simulates on all cores, the other counts on one.
        with ThreadPoolExecutor(2) as pool:
            futures: list[Future[Result]] = [pool.submit(run, i) for i in range(len(claims))]
            try:
                finished, _ = wait(futures, return_when=FIRST_EXCEPTION)
                for future in finished:
                    future.result()
            finally:
                cancelled.set()
                for future in futures:
                    future.cancel()
            results = [future.result() for future in futures]
    if folder is not None:
        with atomic_write(folder / "verdicts.json") as file:
            file.write(to_json(results).encode())
    return results


def to_json(results: Iterable[Result]) -> str:
    """Results as one JSON object."""
    return json.dumps(
        {"claims": [result.to_dict() for result in results]}, indent=1, allow_nan=False
    )


def _draw(claim: Claim, evidence: Evidence, folder: Path | None) -> tuple[Path, ...]:
    if folder is None:
        return ()
    from parkade import plots
    from parkade.plots import style

    figure = plots.new_figure(style.PAGE, claim.height)
    with style.context():
        claim.draw(evidence, figure)
        figure.suptitle(f"{claim.title}: {evidence.verdict}")
    return tuple(plots.save(figure, folder / f"{claim.name}.{kind}") for kind in ("png", "pdf"))
