"""Scenes that come with the package: a new machine has to compile before it can run its first.

To make them again, after a change of what scenes contain:
``python -m parkade.explorer.scenes.recorded``.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from parkade.explorer.settings.settings import Settings
from parkade.theory import paper

FOLDER = Path(__file__).parent

LIFE = Settings(n=paper.LIFE.n, d=paper.LIFE.d, beta=paper.LIFE.beta, T=paper.LIFE.t_end)

SCENES = {
    "life": LIFE,
    "values": replace(LIFE, V="1,0.5"),
    "sharpness": replace(LIFE, beta=16.0),
}
"""The recorded runs: the one that the page opens on, and those its tour compares with it."""


def packed(name: str) -> bytes | None:
    """A recorded scene as JSON, in gzip; None if there is none of this name."""
    return (FOLDER / f"{name}.json.gz").read_bytes() if name in SCENES else None


def name_of(settings: dict[str, Any] | None) -> str | None:
    """The name under which a scene with these settings is recorded, or None."""
    names = (name for name, chosen in SCENES.items() if chosen.to_dict() == settings)
    return next(names, None)


def record(settings: Settings) -> dict[str, Any]:
    """The scene of these settings, computed now."""
    from parkade.explorer.scenes.compute import compute_scene
    from parkade.explorer.settings.limits import Limits

    return compute_scene(settings, Limits(), lambda fraction: None, lambda: False)


if __name__ == "__main__":
    for name, settings in SCENES.items():
        text = json.dumps(record(settings), allow_nan=False)
        (FOLDER / f"{name}.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
