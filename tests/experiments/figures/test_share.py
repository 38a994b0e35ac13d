"""What centres capture as n grows."""

import json

import numpy as np
import pytest

import parkade as pk
from parkade.experiments.figures import share
from parkade.experiments.reproduce import reproduce


def test_what_centers_capture_is_counted_token_by_token(tmp_path, monkeypatch):
    monkeypatch.setattr(share, "SIZES", (50, 100))
    (made,) = reproduce("share", tmp_path, quick=True)
    assert [path.name for path in made.paths] == ["share.png", "share.pdf", "share.csv"]
    rows = [row.split(",") for row in (tmp_path / "share.csv").read_text("utf-8").splitlines()]
    assert [row[0] for row in rows] == ["n", "50", "100"]
    runs, last = int(rows[1][1]), float(rows[1][-1].split()[0])
    model, numbers = pk.Attention(d=2, beta=64.0), []
    recipe = {"n": 50, "runs": runs, "seed": 0, "times": [0.0, 50.0], "t_end": 50.0}
    for tokens in pk.ensemble(model, measure="trajectory", **recipe).tokens.values:
        start, end = tokens
        who = pk.strong_renyi_centers(start, 0.5)
        near = [
            (pk.sphere.distance(x[:, None], x[None, who]) <= 0.02 / 8).any(axis=1).sum()
            for x in (start, end)
        ]
        numbers.append((near[1] - near[0]) / len(who))
    assert last == pytest.approx(np.mean(numbers), rel=1e-3)
    numbers = json.loads((tmp_path / "share.json").read_text("utf-8"))["made"]["numbers"]
    # At t = 50 nearly all tokens are captured, whatever n: a power of 1.
    assert numbers["exponents"]["50"][0] == pytest.approx(1.0, abs=0.1)
