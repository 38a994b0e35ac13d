"""The staircase of one run of many: when clusters merge, and when they were forecast to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parkade.analysis.clusters import default_radius, merge_tree
from parkade.base.progress import Report, compiling
from parkade.engine.compile.threads import single_threaded_blas
from parkade.explorer.scenes.build import put_back
from parkade.explorer.scenes.compute import compute_run
from parkade.explorer.scenes.forecast import forecast
from parkade.explorer.settings.limits import Limits
from parkade.explorer.settings.settings import Settings


def compute_stairs(
    settings: Settings, limits: Limits, report: Report, cancelled: Callable[[], bool]
) -> dict[str, Any]:
    """Simulate, and return the times of merges, ready for JSON.

    Returns
    -------
    dict
        "seen", the times of all merges, increasing, and "forecast", those of the law of merges, or
        None where there is no forecast.
    """
    run, recorder = compute_run(settings, limits, report, cancelled)
    with compiling("what finds clusters"), single_threaded_blas():
        tree = merge_tree(put_back(run, settings.held), default_radius(run.model))
        recorder.checkpoint()
        expected = forecast(run, tree)
    return {
        "seen": sorted(event.time for event in tree.events),
        "forecast": None if expected is None else sorted(m["t"] for m in expected["merges"]),
    }
