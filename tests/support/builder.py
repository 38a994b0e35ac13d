"""Modules of the builder of engines for pages, packaging/wasm."""

from __future__ import annotations

from pathlib import Path

BUILDER = Path(__file__).parents[2] / "packaging" / "wasm"


def leaves(bundle):
    """The fields of a NamedTuple, and those of its fields."""
    for value in bundle:
        if isinstance(value, tuple):
            yield from leaves(value)
        else:
            yield value
