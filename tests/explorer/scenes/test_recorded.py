"""The scenes that come with the package are those that would be computed."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys

import numpy as np
import pytest
from support.explorer import Client, frames, labels, refused

from parkade.explorer.scenes import recorded
from parkade.explorer.settings.presets import presets


@pytest.mark.parametrize("name", recorded.SCENES)
def test_they_are_what_would_be_computed(name):
    made = recorded.record(recorded.SCENES[name])
    stored = json.loads(gzip.decompress(recorded.packed(name)))
    assert stored.keys() == made.keys()
    assert stored["settings"] == made["settings"]
    np.testing.assert_allclose(stored["times"], made["times"], rtol=1e-6)
    np.testing.assert_allclose(frames(stored), frames(made), atol=1e-5)
    assert (labels(stored) == labels(made)).all()
    assert (stored["forecast"] is None) == (made["forecast"] is None)
    for merges in ["merges"] if stored["forecast"] is None else ["merges", "forecast"]:
        merged, expected = (
            s[merges] if merges == "merges" else s[merges]["merges"] for s in (stored, made)
        )
        pairs = [[(m["absorbed"], m["into"]) for m in each] for each in (merged, expected)]
        assert pairs[0] == pairs[1]
        np.testing.assert_allclose([m["t"] for m in merged], [m["t"] for m in expected], rtol=1e-6)


def test_the_life_is_the_preset():
    (life,) = (preset for preset in presets() if preset.name == "life")
    assert life.settings == recorded.LIFE


def test_the_server_has_them():
    client = Client()
    for name, settings in recorded.SCENES.items():
        response = client.get(f"/api/recorded/{name}")
        assert response.status_code == 200
        assert response.json()["settings"] == settings.to_dict()
    assert refused(client.get("/api/recorded/..%2fapp"), 404, "there is nothing at")


def test_the_page_does_not_wait_for_engines():
    """The server answers before Numba is imported."""
    code = "import sys, parkade.explorer.server.serve; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
