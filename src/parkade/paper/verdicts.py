"""The paper's claims, put to the test: a table of verdicts, and a figure for each."""

from __future__ import annotations

from pathlib import Path

from parkade.claims import verify
from parkade.files import directory
from parkade.paper.item import Item


def make(output: Path, seed: int) -> list[Path]:
    """Run all experiments; write verify/verdicts.json and the figures beside it."""
    folder = directory(output / "verify")
    results = verify(seed=seed, output=folder)
    return [folder / "verdicts.json", *(path for result in results for path in result.paths)]


ITEM = Item("verify", "Every claim of the paper: verdicts and figures", make)
