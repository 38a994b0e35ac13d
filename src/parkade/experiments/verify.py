"""`verify`: test claims, two at a time."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeAlias

from parkade.base import check
from parkade.base.errors import InputError, ParkadeError
from parkade.base.files import directory
from parkade.base.progress import Report, bar
from parkade.experiments.claim import Claim, Evidence
from parkade.experiments.claims.registry import CLAIMS
from parkade.experiments.experiment import Outcome, Setup
from parkade.experiments.output import write
from parkade.experiments.records import claims_json

TestedClaim: TypeAlias = Outcome[Claim, Evidence]


def choose(
    names: str | Sequence[str] | None = None, papers: str | Sequence[str] | None = None
) -> list[Claim]:
    """The claims with these names, of these papers; None takes all."""
    claims = check.chosen("the claim", names, CLAIMS)
    known = {claim.paper: claim.paper for claim in CLAIMS.values()}
    wanted = check.chosen("the paper", papers, known)
    matches = [claim for claim in claims if claim.paper in wanted]
    if claims and not matches:
        raise InputError(
            f"{', '.join(claim.name for claim in claims)} must be claims of {', '.join(wanted)}, "
            "but none is; leave out the names or the papers"
        )
    return matches


def verify(
    names: str | Sequence[str] | None = None,
    *,
    papers: str | Sequence[str] | None = None,
    quick: bool = False,
    seed: int = 0,
    runs: int | None = None,
    output: str | os.PathLike[str] | None = None,
    progress: bool = False,
    report: Report | None = None,
) -> list[TestedClaim]:
    """Test claims by experiments.

    Parameters
    ----------
    names : str, sequence of str or None
        Keys of `CLAIMS`; None takes them all.
    papers : str, sequence of str or None
        Take only the claims of these papers: arXiv numbers, or "ours".
    quick : bool
        Take smaller samples: all claims in a few minutes.
    seed : int
        Same seed, same results.
    runs : int, optional
        Number of runs of the ensembles that whole lives of clusters are taken from.
    output : path, optional
        Directory for a figure of each claim (.png and .pdf) and for `verdicts.json`. It is
        created if it does not exist.
    progress : bool
        Show a progress bar on standard error.
    report : function, optional
        Called with the fraction done, instead of a progress bar.

    Returns
    -------
    list of Outcome
        One for each claim, in the order of the names: the claim is its `experiment`, the evidence
        its `finding`.

    Examples
    --------
    >>> from parkade.experiments.verify import verify
    >>> [outcome.finding.verdict for outcome in verify("norm-rates", quick=True)]
    ['agrees']
    """
    claims = choose(names, papers)
    check.generator(seed)
    folder = None if output is None else directory(output)
    done = [0.0] * len(claims)
    cancelled = threading.Event()

    with bar(f"verifying {len(claims)} claims", show=progress, instead=report) as move:

        def test(i: int) -> TestedClaim:
            def note(fraction: float) -> None:
                if cancelled.is_set():
                    raise ParkadeError("cancelled")
                done[i] = fraction
                move(sum(done) / len(done))

            note(0.0)
            return claims[i].perform(Setup(quick, seed, note, runs, folder))

        # Two at a time: while one simulates on all cores, the other counts on one.
        with ThreadPoolExecutor(2) as pool:
            # The last first: they take longest, and would be alone at the end.
            futures = [pool.submit(test, i) for i in reversed(range(len(claims)))][::-1]
            try:
                finished, _ = wait(futures, return_when=FIRST_EXCEPTION)
                for future in finished:
                    future.result()
            finally:
                cancelled.set()
                for future in futures:
                    future.cancel()
            outcomes = [future.result() for future in futures]
    if folder is not None:
        write(folder / "verdicts.json", claims_json(outcomes))
    return outcomes
