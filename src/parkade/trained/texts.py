"""Texts that ship with parkade, written for it: what a report reads if it is given none."""

from __future__ import annotations

from importlib.resources import files


def texts(kind: str = "prose") -> tuple[str, ...]:
    """Twelve short texts in plain English ("prose"), or sixteen reactions as SMILES ("reactions").

    Examples
    --------
    >>> from parkade.trained.texts import texts
    >>> len(texts()), texts("reactions")[0]
    (12, 'CC(=O)O.OCc1ccccc1>>CC(=O)OCc1ccccc1')
    """
    source = files("parkade.trained").joinpath("data", f"{kind}.txt")
    return tuple(source.read_text(encoding="utf-8").strip().split("\n\n"))


def kind_for(pieces: int) -> str:
    """The texts that suit a vocabulary of this size: reactions if it is small."""
    return "reactions" if pieces < 2000 else "prose"
