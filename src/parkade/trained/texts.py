"""Texts that ship with parkade, written for it: what a report reads if it is given none."""

from __future__ import annotations

from importlib.resources import files


def texts(kind: str = "prose") -> tuple[str, ...]:
    """Short texts: twelve in plain English ("prose"), twelve of all kinds ("mixed"), or reactions.

    Examples
    --------
    >>> from parkade.trained.texts import texts
    >>> len(texts()), texts("reactions")[0]
    (12, 'CC(=O)O.OCc1ccccc1>>CC(=O)OCc1ccccc1')
    """
    source = files("parkade.trained").joinpath("data", f"{kind}.txt")
    whole = source.read_text(encoding="utf-8").strip()
    return tuple(whole.split("\n----\n" if "\n----\n" in whole else "\n\n"))


def kind_for(pieces: int) -> str:
    """The texts that suit a vocabulary of this size: reactions if it is small."""
    return "reactions" if pieces < 2000 else "prose"
