"""The presets are the figures of the paper, and more."""

from __future__ import annotations

import dataclasses

import numpy as np

from parkade.explorer import Settings
from parkade.explorer.settings.presets import presets


def test_presets_show_the_figures_and_more():
    by_name = {preset.name: preset for preset in presets()}
    beyond = ["life", "frozen", "full", "high", "pre-norm", "heads", "growth", "window"]
    assert list(by_name) == [*(f"fig1-{i}" for i in range(1, 7)), "fig2", *beyond]
    for i, V in enumerate([[1, 1, 1], [1, 1, -1], [1, 0.5, 0.25], [-1, -1, -2], [-1, -2, -2]], 1):
        chosen = by_name[f"fig1-{i}"].settings
        assert np.array_equal(chosen.model.V, np.diag(V))
        assert (chosen.n, chosen.d, chosen.beta, chosen.T) == (32, 3, 9.0, 5000.0)
    assert np.array_equal(by_name["fig1-6"].settings.model.V, [[1, -1, 0], [1, 1, 0], [0, 0, 0]])
    assert by_name["fig2"].settings == Settings(n=200, d=2, beta=64, c=4, T=150)
    assert by_name["life"].settings == Settings(n=200, d=2, beta=64, seed=1, T=1e60)
    assert by_name["frozen"].settings.frozen == "strong"
    assert by_name["full"].settings.mask == "full"
    assert by_name["high"].settings.d > 3
    life = by_name["life"].settings
    assert by_name["pre-norm"].settings == dataclasses.replace(life, norm="pre")
    assert len(by_name["heads"].settings.model.heads) == 8
    assert by_name["window"].settings.model.mask == "window(16)"
    for preset in by_name.values():
        assert Settings.read(preset.to_dict()["settings"]) == preset.settings
        assert preset.title
        assert preset.about.endswith(".")
