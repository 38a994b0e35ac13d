"""Pages that are saved: small ones for frames, their view, the tour; and tables."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from support import commands
from support.reader import download

import parkade as pk
from parkade.explorer.standalone import export


@pytest.fixture(scope="module")
def run():
    return pk.simulate(pk.Attention(d=2, beta=36.0), pk.sphere.uniform(40, 2, seed=1), 1e6)


def test_a_frame_has_the_picture_and_the_time_line(from_disk, run):
    reader = from_disk(run.show(embed=True, view="t=30&token=4&color=position").text)
    assert reader.t == pytest.approx(30)
    assert reader.view["token"] == 3
    assert reader.view["color"] == "position"
    for name in ["facts", "side", "legend", "theory", "story", "downloads", "status"]:
        assert reader.on(name).is_hidden()
    for width, height in [(640, 400), (360, 420), (900, 300)]:
        reader.resize(width, height)
        ball, line = (reader.on(name).bounding_box() for name in ("ball-box", "time"))
        assert ball["height"] > 0.5 * height
        assert ball["y"] + ball["height"] <= line["y"] + 1
        assert line["y"] + line["height"] <= height + 1
        for side, most in (("Width", width), ("Height", height)):
            assert reader.get(f"document.documentElement.scroll{side}") <= most
    reader.on("timeline").press("End")
    assert reader.t == 1e6


def test_a_saved_page_keeps_the_view(turned, from_disk):
    live = turned("n=12&d=3&beta=4&T=50&t=3&token=2&zoom=1.5&turn=0.8,0.6,0,0&show=names")
    _, data = download(live, "html")
    reader = from_disk(data.decode())
    mine, theirs = reader.view, live.view
    assert mine["u"] == pytest.approx(theirs["u"], abs=1e-6)
    assert mine["turn"] == pytest.approx(theirs["turn"], abs=1e-3)
    same = ["zoom", "token", "trails", "names", "caps", "color"]
    assert [mine[name] for name in same] == [theirs[name] for name in same]
    assert reader.on("beside-choice").is_hidden()  # there is nothing to compare with
    reader = from_disk(data.decode(), "t=7", instead=True)  # a link is stronger
    assert reader.t == pytest.approx(7)


def test_tables(turned, tmp_path, run):
    """They are those of the command line, and of the merge tree."""
    reader = turned("n=40&d=2&beta=36&T=1e6&seed=1")
    run.save(tmp_path / "run.npz")
    for name in ["merges", "plateaus"]:
        printed = commands.invoke("timeline", tmp_path / "run.npz", "--csv", name).stdout
        file, data = download(reader, name)
        assert file.endswith(f"-{name}.csv")
        tables = [list(csv.reader(io.StringIO(text))) for text in (printed, data.decode())]
        assert tables[0][0] == tables[1][0]
        # The page computes with another tolerance, and finds merges to a pixel.
        np.testing.assert_allclose(*(np.array(t[1:], float) for t in tables), rtol=0.02)
    refused = commands.invoke("timeline", "--csv", "clusters")
    assert "--csv must be one of 'merges', 'plateaus', got 'clusters'" in refused.stderr
    assert len(tables[0]) - 1 == len(run.merge_tree().plateaus)


def test_the_tour_without_a_network(from_disk):
    reader = from_disk(export.tour().text)
    assert reader.text("tour-title") == "Tokens"
    reader.press("PageDown", "PageDown", "PageDown", "PageDown", "PageDown")
    assert reader.text("tour-title") == "What V changes"
    assert reader.get("parkade.scene.settings.V") == "1,0.5"
