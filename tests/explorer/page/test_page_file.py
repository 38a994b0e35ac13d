"""The page as one file: opened from a disk, with the network cut."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import expect
from support import commands
from support.pictures import near, same
from support.reader import Reader, download

import parkade as pk


def test_the_downloaded_page(turned, from_disk, tmp_path):
    live = turned("n=16&c=2&V=1,1,-1&T=50&t=2")
    name, data = download(live, "html")
    assert name == "parkade-n16-d3-beta9-T50-seed1.html"
    file = tmp_path / name
    file.write_bytes(data)
    reader = from_disk(file, "t=2")
    assert reader.get("document.documentElement.dataset.mode") == "file"
    mine, theirs = reader.scene(), live.scene()
    assert mine["settings"] == theirs["settings"]
    np.testing.assert_array_equal(mine["frames"], theirs["frames"])
    assert reader.t == pytest.approx(2)
    # It may be larger, with no controls beside it, but it is the same picture.
    here, there = (p[1:, :2] - p[0, :2] for p in (reader.places(), live.places()))
    scale = np.linalg.norm(here) / np.linalg.norm(there)
    np.testing.assert_allclose(here, scale * there, atol=0.1)
    ball, ground = reader.picture(), reader.color("ball")
    front = [p for p in reader.places() if p[2] > 0]
    # One token may be under the rim of another, in part.
    assert all(np.abs(near(ball, x, y, 2) - ground).max() > 60 for x, y, _ in front)
    for name in ["predicted", "seen", "agreement", "clusters"]:
        assert reader.text(name) == live.text(name)
    # What needs a server is not there; the settings of the run are listed instead.
    for name in ["settings", "preset", "undo", "redo", "download-npz", "download-html"]:
        assert reader.on(name).is_hidden(), name
    reader.open_menu()
    assert reader.page.locator(".menu button:visible").count() == 6
    facts = reader.page.locator("#facts dl").inner_text().split("\n")
    assert facts[facts.index("V") + 1] == "1,1,-1"
    assert facts[facts.index("n") + 1] == "16"


def test_a_file_plays_and_answers_the_reader(from_disk, exported):
    """It plays, is turned, pointed at, linked to and drawn from."""
    reader = from_disk(exported)
    reader.press("Home")
    assert reader.t == 0
    start = reader.picture()
    reader.on("play").click()
    expect(reader.on("t")).not_to_have_text("0")
    assert reader.get("parkade.playing")
    reader.on("play").click()
    assert not same(reader.picture(), start)
    before = reader.places()
    reader.drag(60, 30)
    assert np.abs(reader.places() - before).max() > 20
    reader.type("token", 3)
    assert reader.text("token-text").startswith("x₃")
    reader.press("d")
    assert reader.theme == "dark"
    _, data = download(reader, "png")
    assert data.startswith(b"\x89PNG")
    again = Reader(reader.context, reader.origin)
    again.page.goto(f"{reader.origin}#{reader.link}")
    again.idle()
    np.testing.assert_allclose(again.places(), reader.places(), atol=0.6)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A page that `parkade export` made of a saved run."""
    folder = tmp_path_factory.mktemp("export")
    run = pk.simulate(pk.Attention(d=3, beta=9.0), pk.sphere.uniform(20, 3, seed=4), 40.0)
    run.save(folder / "run.npz")
    done = commands.invoke("export", folder / "run.npz", "-o", folder / "page.html")
    assert done.exit_code == 0, done.output
    return folder / "page.html"


def test_export(from_disk, exported):
    reader = from_disk(exported)
    run = pk.load(exported.with_name("run.npz"))
    scene = reader.scene()
    assert scene["settings"] is None
    np.testing.assert_allclose(scene["frames"], run.at(scene["times"]), atol=1e-6)
    assert reader.t == 40
    assert reader.on("settings").is_hidden()
    assert reader.page.locator("#facts dl").inner_text().split("\n")[:4] == ["n", "20", "d", "3"]
    ball = reader.picture()
    assert len(np.unique(ball @ [1, 256, 65536])) > 50


def test_in_a_notebook(notebook):
    """`run.show()` is a frame that is alive, though it has no address of its own."""
    frame = notebook()
    assert frame.evaluate("() => parkade.scene.n") == 8
    frame.locator("#show-trails").click()
    assert frame.locator("#show-trails").get_attribute("aria-pressed") == "false"
    frame.locator("#timeline").press("Home")
    assert frame.evaluate("() => parkade.t") == 0


def test_a_notebook_shows_the_whole_time_line(from_disk):
    """In a frame as wide as one of JupyterLab, with or without a side bar, nobody scrolls to it."""
    x0 = pk.sphere.uniform(40, 2, seed=1)
    page = pk.simulate(pk.Attention(d=2, beta=36.0), x0, 1e6).show()
    reader = from_disk(page.text)
    assert reader.on("story").is_visible()
    for width in [760, 945, 1000, 1200]:
        reader.resize(width, page.height)
        box = reader.on("timeline").bounding_box()
        assert box["y"] + box["height"] <= page.height, width
        assert reader.on("ball").bounding_box()["height"] > 350
