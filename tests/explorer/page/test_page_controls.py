"""Each control changes the run, and the scene that comes is the one that was asked for."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import expect
from support.explorer import ENDLESS_LINK
from support.marks import many

from parkade.analysis.centers import KINDS
from parkade.explorer.settings.settings import Settings


def check(reader, **changes):
    """The scene is that of the settings shown, which differ from the small ones so."""
    expect(reader.page.locator("html")).to_have_attribute("data-state", "ready")
    wanted = Settings(**{"n": 12, "d": 2, "beta": 16, "T": 100, **changes})
    assert reader.settings == wanted.to_dict()
    scene = reader.scene()
    assert scene["settings"] == wanted.to_dict()
    assert (scene["n"], scene["d"], scene["mask"]) == (wanted.n, wanted.d, wanted.mask)
    np.testing.assert_allclose(scene["frames"][0], wanted.start, atol=1e-6)
    np.testing.assert_allclose(scene["times"][-1], wanted.T)
    model = wanted.model
    np.testing.assert_allclose(scene["V"], model.V)
    np.testing.assert_allclose(scene["A"], model.beta * model.K.T @ model.Q)
    np.testing.assert_allclose(scene["delta"], wanted.delta)
    for name, find in KINDS.items():
        assert scene["centers"][name] == find(wanted.start, wanted.delta).tolist()
    assert scene["frozen_tokens"] == wanted.held.tolist()
    held = scene["frames"][:, wanted.held]
    np.testing.assert_array_equal(held, np.broadcast_to(held[:1], held.shape))
    # And the picture is of this scene: as many places as tokens, the tokens of its end.
    assert len(reader.places()) == wanted.n
    assert reader.get("document.getElementById('token').max") == str(wanted.n)
    return scene


NUMBERS = [("n", 20), ("d", 5), ("beta", 2.5), ("c", 1.5), ("T", 1e60), ("seed", 7)]


def test_numbers(turned, small):
    reader = turned(small)
    before = check(reader)
    for name, value in NUMBERS:
        typed = f"{value:g}".replace("e+", "e")
        reader.type(name, typed)
        after = check(reader, **{name: value})
        assert not np.array_equal(before["frames"], after["frames"]) or name == "c"
        if name == "c":
            assert "0.375" in reader.page.locator("[data-field=c] label").inner_text()
        assert reader.value(name) == typed
        assert f"{name}={typed}" in reader.link
        reader.open(small)
    check(reader)


def test_numbers_as_people_write_them(turned, small):
    reader = turned(small)
    reader.type("T", "10^12")
    check(reader, T=1e12)
    reader.type("beta", "2,5")
    check(reader, T=1e12, beta=2.5)
    reader.click("seed-next")
    check(reader, T=1e12, beta=2.5, seed=2)


# Each with a share of its way, the value there, and the value at its beginning.
SLIDERS = [
    ("d", 0.5, 9, 2),
    ("beta", 0.5, 10.0, 0.1),
    ("c", 0.2, 2.0, 0.5),
    ("T", 0.5, 1e30, 1),
    ("n", 0.25, 11, 2),  # 2·1000^¼
]


def test_sliders(turned, small):
    reader = turned(small)
    changes = {}
    for name, share, value, low in SLIDERS:
        reader.slide(f"{name}-slider", str(share))
        check(reader, **changes | {name: value})
        assert float(reader.value(name)) == value
        # By keyboard it goes on, and back again; typing moves the slider.
        reader.on(f"{name}-slider").focus()
        reader.press("ArrowRight")
        assert value < reader.settings[name] < 1.5 * value
        reader.press("ArrowLeft", "ArrowLeft")
        assert reader.settings[name] < value
        reader.type(name, low)
        assert float(reader.value(f"{name}-slider")) == 0
        changes[name] = low
    check(reader, **changes)


def test_a_slider_that_is_dragged(turned, small):
    """While it moves, runs come and go; where it is let go, that is the run."""
    reader = turned(small)
    box = reader.on("beta-slider").bounding_box()
    y = box["y"] + box["height"] / 2
    reader.page.mouse.move(box["x"] + 20, y)
    reader.page.mouse.down()
    reader.page.mouse.move(box["x"] + 60, y, steps=4)
    reader.idle()
    held = reader.settings["beta"]
    reader.page.mouse.move(box["x"] + box["width"] / 2, y, steps=6)
    reader.page.mouse.up()
    reader.idle()
    let_go = reader.settings["beta"]
    assert 0.1 < held < let_go
    assert let_go == pytest.approx(10, rel=0.1)
    check(reader, beta=let_go)
    # All of the way is one step to take back.
    reader.click("undo")
    check(reader)


@pytest.mark.parametrize("name", many(["V", "Q"], ["V", "Q", "K"]))
def test_matrices(turned, small, name):
    """The identity, eigenvalues, all entries, and random."""
    reader = turned(small)

    reader.select(name, "eigenvalues")
    reader.type(f"{name}-1", "-0.5")
    check(reader, **{name: "1,-0.5"})
    reader.slide(f"{name}-0-slider", "0.25")
    check(reader, **{name: "0.25,-0.5"})
    reader.select(name, "matrix")
    reader.type(f"{name}-0-1", "-1")
    check(reader, **{name: "0.25,-1;0,-0.5"})
    reader.select(name, "random")
    check(reader, **{name: "random:1"})
    reader.type(f"{name}-seed", 4)
    check(reader, **{name: "random:4"})
    reader.select(name, "I")
    check(reader)


def test_matrices_as_text(turned, small):
    """One number for all eigenvalues; beyond eight dimensions a line of text."""
    reader = turned(f"{small}&V=0.5")
    check(reader, V="0.5")
    assert [reader.value(f"V-{i}") for i in range(2)] == ["0.5", "0.5"]
    reader.type("d", 9)
    check(reader, V="0.5", d=9)
    reader.type("V-text", "1, 1, 1, 1, 1, 1, 1, 1, 0.25")
    check(reader, V="1,1,1,1,1,1,1,1,0.25", d=9)
    reader.type("d", 3)
    check(reader, V="1,1,1", d=3)
    reader.type("V-2", "1/2")
    check(reader, V="1,1,1/2", d=3)
    assert reader.value("V-2-slider") == "0.5"


def test_mask_and_frozen(turned, small):
    reader = turned(f"{small}&c=2")
    reader.check("mask-full")
    check(reader, c=2, mask="full")
    for which in ["renyi", "strong"]:
        reader.check(f"frozen-{which}")
        scene = check(reader, c=2, mask="full", frozen=which)
        assert 0 < len(scene["frozen_tokens"]) < 12
        assert reader.on("frozen-key").is_visible()
    reader.check("mask-causal", "frozen-none")
    check(reader, c=2)


def test_a_new_value_ends_the_run_before(opened, server):
    """More runs are begun than the server has places; each gives way to the next."""
    reader = opened(ENDLESS_LINK, wait=False)
    ended = []
    reader.context.on("requestfailed", lambda request: ended.append(request.failure))
    for seed in range(2, 9):
        expect(reader.on("progress")).to_be_visible()
        assert reader.state == "computing"
        reader.on("seed").fill(str(seed))
        reader.on("seed").blur()
    expect(reader.on("progress-bar")).not_to_have_attribute("aria-valuenow", "0")
    reader.type("T", 10)
    scene = reader.scene()
    assert (scene["settings"]["T"], scene["settings"]["seed"]) == (10, 8)
    reader.until(lambda: len(ended) >= 8)  # the news may come later than the scene
    assert ended == ["net::ERR_ABORTED"] * 8
    assert reader.on("progress").is_hidden()
