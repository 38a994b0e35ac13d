"""The explorer: watch tokens cluster, in the browser.

Imports `solve`, `analysis`, `theory` and below.
"""

from __future__ import annotations

from typing import Any

from parkade.explorer.settings.limits import Limits
from parkade.explorer.settings.settings import Settings

__all__ = ["Limits", "Settings", "scene"]


def scene(settings: Settings | dict[str, Any]) -> dict[str, Any]:
    """Run these settings and return everything the page draws, ready for JSON.

    Examples
    --------
    >>> from parkade.explorer import scene
    >>> shown = scene({"n": 20, "d": 2, "beta": 64, "T": 10})
    >>> shown["n"], len(shown["times"]) == len(shown["clusters"])
    (20, True)
    """
    from parkade.explorer.scenes.compute import compute_scene

    chosen = settings if isinstance(settings, Settings) else Settings.read(settings)
    return compute_scene(chosen, Limits(), lambda fraction: None, lambda: False)
