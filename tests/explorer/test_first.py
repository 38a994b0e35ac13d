"""The scene that comes with the package is the one that would be computed."""

from __future__ import annotations

import gzip
import json

import numpy as np
from support.explorer import Client, frames, labels

from parkade.explorer import first
from parkade.explorer.app import create_app


def test_it_is_what_would_be_computed():
    kept, made = json.loads(gzip.decompress(first.FILE.read_bytes())), first.first_scene()
    assert kept.keys() == made.keys()
    assert kept["settings"] == made["settings"]
    np.testing.assert_allclose(kept["times"], made["times"], rtol=1e-6)
    np.testing.assert_allclose(frames(kept), frames(made), atol=1e-5)
    assert (labels(kept) == labels(made)).all()
    told, expected = kept["forecast"]["merges"], made["forecast"]["merges"]
    assert [(m["absorbed"], m["into"]) for m in told] == [
        (m["absorbed"], m["into"]) for m in expected
    ]
    np.testing.assert_allclose([m["t"] for m in told], [m["t"] for m in expected], rtol=1e-6)


def test_the_server_has_it():
    response = Client(create_app()).get("/api/first")
    assert response.status_code == 200
    assert response.json()["settings"] == first.first_scene()["settings"]
