"""What goes wrong has a sentence where it belongs, and the last scene stays."""

from __future__ import annotations

import numpy as np
from playwright.sync_api import expect
from support.explorer import ENDLESS_LINK, explore
from support.pictures import difference, number_of, same

REFUSED = "the server responded with a status of 422"


WRONG = [
    ("beta", "-1", "beta must be a number from 0 to 10⁶, got −1"),
    ("beta", "much", "beta must be a number from 0 to 10⁶, got 'much'"),
    ("n", "0", "n must be a whole number from 1 to 2000, got 0"),
    ("n", "2001", "n must be a whole number from 1 to 2000, got 2001"),
    ("n", "2.5", "n must be a whole number from 1 to 2000, got 2.5"),
    ("d", "1", "d must be a whole number from 2 to 64, got 1"),
    ("c", "0", "c must be a number from 0.001 to 1000, got 0"),
    ("T", "1e61", "T must be a number from 0.001 to 10⁶⁰, got 10⁶¹"),
    ("seed", "-4", "seed must be a whole number from 0"),
    ("V-0", "abc", "V must be"),
    ("V-1", "5000", "V must have entries that are 0 or from 10⁻⁶ to 1000"),
]


def test_wrong_values(turned, small):
    reader = turned(f"{small}&V=1,0.5")
    scene, picture = reader.get("parkade.scene.settings"), reader.picture()
    state, right = reader.page.locator("html"), None
    for (name, value, sentence), (following, *_) in zip(WRONG, [*WRONG[1:], " "], strict=True):
        right = right or reader.value(name)
        reader.type(name, value)
        reader.forgive(REFUSED)
        field = name.partition("-")[0]
        error = reader.on(f"{field}-error")
        assert error.inner_text().startswith(sentence)
        assert error.get_attribute("role") == "alert"
        assert reader.on(name).get_attribute("aria-invalid") == "true"
        assert reader.on(field).get_attribute("aria-describedby") == f"{field}-error"
        assert reader.value(name) == value
        assert state.get_attribute("data-state") == "error"
        assert reader.page.locator(".error:visible").count() == 1
        # The last scene is still there.
        assert reader.get("parkade.scene.settings") == scene
        if following == name:
            continue
        reader.type(name, right)
        right = None
        assert error.is_hidden()
        assert reader.on(name).get_attribute("aria-invalid") is None
        assert state.get_attribute("data-state") == "ready"
    assert difference(reader.picture(), picture) == ""


def test_each_wrong_setting_has_a_sentence(opened):
    """Of each setting at its control, not of the first one only."""
    reader = opened("n=0&d=2&beta=-1&T=10&V=much", wait=False)
    for name in ["n", "beta", "V"]:
        expect(reader.on(f"{name}-error")).to_contain_text(f"{name} must be")
    reader.forgive(REFUSED)


def test_the_last_scene_stays_alive(turned, small):
    reader = turned(small)
    reader.type("beta", -1)
    reader.forgive(REFUSED)
    picture = reader.picture()
    reader.press("Home")
    assert reader.t == 0
    assert not same(reader.picture(), picture)


def test_too_much_work(turned):
    """What would take for ever is refused with a time that would not."""
    reader = turned("n=16&d=2&V=1,-1;1,1&Q=1,2;0,1&T=10")
    reader.type("T", "1e50")
    reader.forgive(REFUSED, certain=False)  # or sent by the stream, if it had begun
    sentence = reader.text("T-error")
    assert sentence.startswith("T=10⁵⁰ would take about")
    longest = sentence.rpartition("choose T up to ")[2]
    number, _, power = longest.partition("·10")
    assert 1 <= float(number) < 10
    assert 1 <= number_of(power) < 50


def test_nothing_left_to_move(turned):
    reader = turned("n=3&d=2&beta=100&c=0.1&T=5")
    reader.check("frozen-renyi")
    reader.forgive(REFUSED, certain=False)  # or sent by the stream, if it had begun
    assert "leaves none to move" in reader.text("frozen-error")


def test_a_wrong_link(opened):
    """Without a scene, the sentence stands in the middle too."""
    reader = opened("n=12&d=2&T=10&beta=-3", wait=False)
    expect(reader.on("message")).to_have_text("beta must be a number from 0 to 10⁶, got −3")
    expect(reader.on("beta-error")).to_be_visible()
    reader.forgive(REFUSED)
    reader.type("beta", 3)
    assert reader.on("message").is_hidden()
    assert reader.get("parkade.scene.beta") == 3


def test_the_server_is_gone(opened, small):
    """Killed in the middle of an answer; then nobody listens at its address."""
    gone = "The server does not answer. Is “parkade explore” still running?"
    with explore() as (process, origin):
        reader = opened(small, origin=origin)
        frames = reader.scene()["frames"]
        reader.follow(ENDLESS_LINK, wait=False)
        expect(reader.on("progress-bar")).not_to_have_attribute("aria-valuenow", "0")
    process.wait()
    expect(reader.on("message")).to_have_text(gone)
    assert reader.state == "error"
    reader.type("n", 20)
    assert reader.text("message") == gone
    np.testing.assert_array_equal(reader.scene()["frames"], frames)
    # Downloads that need it say so; a picture needs nobody.
    reader.open_menu()
    reader.on("download-npz").click()
    expect(reader.on("toast")).to_have_text(gone)
    reader.open_menu()
    with reader.page.expect_download():
        reader.on("download-png").click()
    reader.forgive("net::ERR_CONNECTION_REFUSED")
    for broken in ("net::ERR_CONNECTION_RESET", "net::ERR_INCOMPLETE_CHUNKED_ENCODING"):
        reader.forgive(broken, certain=False)


def test_the_server_breaks_off(turned, small):
    """An answer that ends too early, and one that makes no sense."""
    reader = turned(small)
    answers = ['{"progress": 0.5}\n', '{"error": "stopped after 60 s"}\n', "<html>"]
    messages = []
    reader.page.route("**/api/run", lambda route: route.fulfill(body=answers[len(messages)]))
    while len(messages) < len(answers):
        reader.type("seed", 2 + len(messages))
        messages.append(reader.text("message"))
    reader.page.unroute("**/api/run")
    assert messages[0] == "The server ended the run without a scene. Try again."
    assert messages[1] == "stopped after 60 s"
    assert "server" in messages[2]
    reader.type("seed", 9)
    assert reader.on("message").is_hidden()
    assert reader.get("parkade.scene.settings.seed") == 9
