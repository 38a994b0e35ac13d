"""Run, controls, link and downloads are one truth; a picture of other settings is marked."""

from __future__ import annotations

import numpy as np
from playwright.sync_api import expect
from support.explorer import ENDLESS_LINK
from support.pictures import difference
from support.reader import download

import parkade as pk

REFUSED = "the server responded with a status of 422"

_MARK = """() => ({
  state: document.documentElement.dataset.state,
  dim: ['ball', 'timeline', 'attention', 'theory', 'readout'].map(
    id => getComputedStyle(document.getElementById(id)).opacity < 0.6),
})"""

# Moves a slider a little, and tells at once whether the picture is marked.
_SLIDE = """([id, value]) => {
  const slider = document.getElementById(id);
  slider.value = value;
  slider.dispatchEvent(new Event('input', { bubbles: true }));
  return getComputedStyle(document.getElementById('ball')).opacity < 0.6;
}"""


def check_mark(reader, state, stale):
    """The state of the page; whether all that is seen of the run is dimmed, and this is said."""
    mark = reader.page.evaluate(_MARK)
    assert mark == {"state": state, "dim": [stale] * 5}
    assert reader.on("stale").is_visible() == (stale and state != "computing")


def check_downloads(reader, tmp_path):
    """Files are of the picture, whatever the controls say."""
    name, data = download(reader, "npz")
    assert "-n12-" in name
    (tmp_path / name).write_bytes(data)
    run = pk.load(tmp_path / name)
    assert run.tokens.shape[1:] == (12, 2)
    assert run.times[-1] == 100


def test_cancelled(turned, small, tmp_path):
    reader = turned(small)
    picture, frames = reader.picture(), reader.scene()["frames"]
    check_mark(reader, "ready", stale=False)
    reader.follow(ENDLESS_LINK, wait=False)
    expect(reader.on("progress")).to_be_visible()
    check_mark(reader, "computing", stale=True)
    reader.on("cancel").click()
    expect(reader.on("progress")).to_be_hidden()
    expect(reader.on("toast")).to_have_text("Cancelled.")
    check_mark(reader, "stale", stale=True)
    np.testing.assert_array_equal(reader.scene()["frames"], frames)
    assert reader.value("n") == "1000"
    check_downloads(reader, tmp_path)
    # The link that is copied is of the picture too.
    reader.context.grant_permissions(["clipboard-read", "clipboard-write"])
    reader.on("link").click()
    copied = reader.page.evaluate("navigator.clipboard.readText()")
    assert "n=12&" in copied
    assert "T=100&" in copied
    reader.click("go-back")
    check_mark(reader, "ready", stale=False)
    assert reader.value("n") == "12"
    assert difference(reader.picture(), picture) == ""
    # Each setting that is wrong has its sentence.
    reader.type("beta", -1)
    reader.type("n", 0)
    reader.forgive(REFUSED)
    check_mark(reader, "error", stale=True)
    assert reader.on("retry").is_hidden()
    for name in ["beta", "n"]:
        assert reader.text(f"{name}-error").startswith(f"{name} must be")
    check_downloads(reader, tmp_path)
    reader.click("go-back")
    check_mark(reader, "ready", stale=False)
    assert reader.page.locator(".error:visible").count() == 0


def asked(reader):
    """How many runs the page has asked for."""
    return sum(url.endswith("/api/run") for url in reader.asked)


def test_while_a_slider_moves(turned, small):
    """Each movement marks the picture at once, and a run that takes long has its bar."""
    reader = turned(small)
    for value in [0.2, 0.4, 0.6]:
        assert reader.page.evaluate(_SLIDE, ["beta-slider", value])
    reader.idle()
    check_mark(reader, "ready", stale=False)
    beta = reader.settings["beta"]
    assert reader.get("parkade.scene.beta") == beta != 16
    reader.follow(ENDLESS_LINK, wait=False)
    expect(reader.on("progress")).to_be_visible()
    for i in range(3):  # a new run takes the place of the one before, and the bar stays
        runs = asked(reader)
        assert reader.page.evaluate(_SLIDE, ["c-slider", 0.3 + 0.01 * i])
        while asked(reader) == runs:
            assert reader.on("progress").is_visible()
    reader.on("cancel").click()


def test_the_server_comes_back(turned, small):
    """The page asks until it answers, and goes on by itself; or at once, by a button."""
    reader = turned(small)
    reader.lose()
    reader.type("n", 20)
    expect(reader.on("message")).to_contain_text("The server does not answer.")
    reader.page.unroute_all()
    expect(reader.on("message")).to_be_hidden()
    reader.idle()
    assert reader.get("parkade.scene.n") == 20
    reader.lose()
    reader.type("n", 30)
    check_mark(reader, "error", stale=True)
    reader.page.unroute_all()
    reader.click("retry")
    assert reader.get("parkade.scene.n") == 30
    check_mark(reader, "ready", stale=False)
    reader.forgive("net::ERR_CONNECTION_REFUSED")


def test_a_server_that_is_back_is_not_asked_again(opened, small):
    """After another run nothing is repeated that nobody asked for, whatever came of that run."""
    reader = opened(small, clock=True)
    reader.lose()
    reader.type("n", 30)
    check_mark(reader, "error", stale=True)
    reader.page.unroute_all()
    reader.click("retry")
    reader.type("n", 0)
    check_mark(reader, "error", stale=True)
    runs = asked(reader)
    reader.page.clock.fast_forward(10_000)
    reader.idle()
    assert asked(reader) == runs
    reader.forgive("net::ERR_CONNECTION_REFUSED")
    reader.forgive("the server responded with a status of 422")
