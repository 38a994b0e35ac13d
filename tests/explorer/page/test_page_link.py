"""The address is the state: links, undo and redo, and what is written into them."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import expect
from support.pictures import difference


@pytest.mark.parametrize(
    "settings",
    [
        "n=16&d=3&beta=4&c=2&V=1,1,-1&seed=3&T=50",
        "n=10&d=2&beta=16&c=2&V=0.5,-1;1,0.5&Q=random:2&K=-1&mask=full&frozen=strong&T=20",
    ],
)
def test_round_trip(turned, opened, settings):
    """A link reproduces settings, time, rotation, toggles and token, for somebody else."""
    reader = turned(settings)
    reader.go(4.5)
    reader.drag(50, 20)
    reader.page.mouse.move(500, 400)
    reader.page.mouse.wheel(0, -200)
    for key in ["c", "t", "p", "g"]:
        reader.press(key)
    reader.type("token", 6)
    reader.on("token").blur()
    reader.point()
    link = reader.link
    other = opened(link)
    assert other.settings == reader.settings
    assert other.t == pytest.approx(4.5, rel=1e-6)
    mine, others = reader.view, other.view
    for name in ["color", "trails", "renyi", "strong", "caps", "names", "group", "token"]:
        assert others[name] == mine[name], name
    assert (mine["color"], mine["trails"], mine["caps"]) == ("position", False, False)
    assert (mine["group"], mine["token"]) == (True, 5)
    np.testing.assert_allclose(others["turn"], mine["turn"], atol=1e-3)
    np.testing.assert_allclose(other.places(), reader.places(), atol=0.6)
    for name in ["color-position", "color-cluster", "show-trails", "show-caps", "show-group"]:
        pressed = reader.pressed(name)
        assert other.pressed(name) == pressed
    # And it looks the same, but for what four digits of a rotation move.
    apart = np.abs(other.picture() - reader.picture()).max(axis=-1)
    assert (apart > 40).mean() < 0.002
    assert other.link == link


def test_a_short_link_for_the_defaults(turned):
    reader = turned("n=32")
    assert reader.link == "t=1000"
    reader.type("beta", 4)
    assert reader.link == "beta=4&t=1000"
    reader.type("beta", 9)
    assert reader.link == "t=1000"


def test_undo_and_redo(opened, small):
    reader = opened(small)
    first = reader.picture()
    assert reader.on("undo").is_disabled()
    assert reader.on("redo").is_disabled()
    reader.type("n", 20)
    reader.type("beta", 4)
    reader.on("show-trails").click()
    reader.click("undo")
    assert reader.pressed("show-trails")
    assert (reader.settings["n"], reader.settings["beta"]) == (20, 4)
    reader.press("Control+z")
    assert (reader.settings["n"], reader.settings["beta"]) == (20, 16)
    assert reader.value("beta") == "16"
    reader.page.go_back()
    reader.idle()
    assert reader.settings["n"] == reader.get("parkade.scene.n") == 12
    assert difference(reader.picture(), first) == ""
    assert reader.on("undo").is_disabled()
    reader.press("Control+Shift+z")
    assert reader.get("parkade.scene.n") == 20
    reader.click("redo")
    reader.press("Control+y")
    assert reader.settings["beta"] == reader.get("parkade.scene.beta") == 4
    assert not reader.pressed("show-trails")
    assert reader.on("redo").is_disabled()
    # A new step forgets what was undone.
    reader.press("Control+z")
    reader.press("Control+z")
    reader.type("n", 8)
    assert reader.on("redo").is_disabled()


def test_undo_of_a_preset(opened, small):
    reader = opened(small)
    reader.select("preset", "full")
    reader.click("undo")
    assert reader.get("parkade.scene.n") == 12
    assert reader.value("preset") == ""
    reader.click("redo")
    assert reader.value("preset") == "full"


def test_copying(opened, small, server):
    """The link is in the clipboard; if that is not allowed, it is said where it is."""
    reader = opened(small)
    reader.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=server)
    reader.on("link").click()
    expect(reader.on("toast")).to_have_text("The link to this view is copied.")
    copied = reader.get("navigator.clipboard.readText()")
    assert copied == f"{server}/#{small}&t=100"
    # What stands beside it is part of the view, and so is the step of a tour.
    reader.select("beside", "seed")
    reader.press("l")
    copied = reader.get("navigator.clipboard.readText()")
    assert copied == f"{server}/#{small}&t=100&beside=seed:2"
    reader.open("tour=2")
    reader.press("l")
    assert reader.get("navigator.clipboard.readText()") == f"{server}/#tour=2"
    reader.get("{ navigator.clipboard.writeText = () => Promise.reject(new Error('no')); }")
    reader.press("l")
    expect(reader.on("toast")).to_have_text("The link to this view is in the address bar.")


def test_links_that_make_no_sense(turned, small):
    """What cannot be read of a view is left alone; the scene may be there already."""
    turned(small)
    reader = turned(f"{small}&t=abc&turn=1,2&zoom=-3&pan=x,y&color=red&token=99&nothing=1&show=x")
    view = reader.view
    assert (view["turn"], view["zoom"], view["pan"]) == (None, 1, [0, 0])
    assert (view["color"], view["token"], view["trails"]) == ("cluster", None, False)
    assert reader.t == 100


def test_an_address_without_a_time_means_the_end(turned, small):
    """In a page that is open as well, of the same run or of another one."""
    reader = turned(f"{small}&t=3")
    for link, end in [(small, 100), (f"{small}&t=3", 3), ("n=10&d=2&beta=16&T=50", 50)]:
        reader.open(link)
        assert reader.t == pytest.approx(end)


def test_a_link_to_nowhere(opened, small):
    """A zoom or a shift that leaves nothing to see is taken back."""
    view = opened(f"{small}&zoom=1e9").view
    assert (view["zoom"], view["pan"]) == (1, [0, 0])
