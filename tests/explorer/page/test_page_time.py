"""Moving in time: by pointer, by keys, by itself."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import expect
from support.pictures import along, covered, has


def scrub(reader, share, press=True):
    """Move the pointer to a share of the time line, and press it."""
    box = reader.on("timeline").bounding_box()
    x = box["x"] + along(box["width"], share)
    reader.page.mouse.move(x, box["y"] + 40)
    if press:
        reader.page.mouse.down()
    reader.idle()
    return reader.t


def test_scrub(turned, small):
    reader = turned(small)
    reader.on("show-names").click()
    scene, start = reader.scene(), reader.picture()
    # The scale is logarithmic: equal ways are equal ratios.
    a, b, c = (scrub(reader, share) for share in (0.25, 0.5, 0.75))
    assert b / a == pytest.approx(c / b, rel=0.05)
    assert b / a > 5
    assert reader.text("t") == f"{c:.3g}"
    reader.page.mouse.up()
    assert f"&t={c:.4g}"[:-1] in reader.link
    scrub(reader, 0.7)
    # While the pointer is down it pulls, beyond the ends too.
    assert scrub(reader, 1.5, press=False) == 100
    assert scrub(reader, -0.5, press=False) == 0
    reader.page.mouse.up()
    assert scrub(reader, 0.5, press=False) == 0
    # The picture is of that time: tokens are on the circle where they started.
    assert not np.array_equal(reader.picture(), start)
    check_places(reader, scene["frames"][0])
    reader.go(100)
    check_places(reader, scene["frames"][-1])


def check_places(reader, tokens):
    """The places on the screen are these tokens, but for one scale: x to the right, y up."""
    places = reader.places()[:, :2] * [1, -1]
    design = np.zeros((2 * len(tokens), 3))
    design[:, 0] = tokens.ravel()
    design[::2, 1] = design[1::2, 2] = 1
    (scale, *_), *_ = np.linalg.lstsq(design, places.ravel())
    assert scale > 100
    np.testing.assert_allclose(design @ np.linalg.lstsq(design, places.ravel())[0],
                               places.ravel(), atol=0.01)  # fmt: skip


def merge_times(reader):
    """Times of the merges after the start."""
    merges = sorted({merge["t"] for merge in reader.scene()["merges"] if merge["t"] > 0})
    assert len(merges) > 2
    return merges


def test_keys_on_the_time_line(turned, small):
    reader = turned(small)
    merges = merge_times(reader)
    reader.on("timeline").focus()
    reader.press("Home")
    assert reader.t == 0
    for key, step in [("ArrowRight", 0.01), ("Shift+ArrowRight", 0.05), ("ArrowLeft", -0.01)]:
        before = reader.view["u"]
        reader.press(key)
        assert reader.view["u"] - before == pytest.approx(step)
    value = reader.on("timeline").get_attribute("aria-valuenow")
    assert float(value) == pytest.approx(50)
    reader.press("Home", "PageUp")
    assert reader.t == pytest.approx(merges[0], rel=1e-6)
    gone = sum(merge["t"] <= merges[0] for merge in reader.scene()["merges"])
    assert reader.text("clusters") == f"{12 - gone} clusters"
    reader.press("End")
    assert reader.t == 100
    reader.press("PageDown")
    assert reader.t == pytest.approx(merges[-1], rel=1e-6)


def test_keys_anywhere(turned, small):
    reader = turned(small)
    times, merges = reader.scene()["times"], merge_times(reader)
    for keys, t in [
        (["Home", ".", ".", "."], times[3]), ([","], times[2]),
        (["Home", "]"], merges[0]), (["["], 0), (["End"], 100),
    ]:  # fmt: skip
        reader.press(*keys)
        assert reader.t == pytest.approx(t)
    reader.on("previous").click()
    assert reader.t == pytest.approx(merges[-1])
    reader.on("next").click()
    assert reader.t == 100


def test_now_is_marked_on_the_charts(turned, small):
    """A dark disc at the foot of the staircase, and dots on the curves of consumption."""
    reader = turned(f"{small}&t=3")
    u, ink, paper = reader.view["u"], reader.color("ink"), reader.color("panel")
    line, eaten = reader.pictures("timeline", "consumption")
    x = along(line.shape[1], u)
    y = line.shape[0] - 26
    assert has(line, x, y, ink)
    assert has(line, x, 20, ink, within=120)
    assert not has(line, x + 30, y - 3, ink, reach=2)
    assert has(line, x + 30, 4, paper, reach=0)
    share = reader.scene()["consumption"]["strong"][frame_at(reader, 3)]
    x = along(eaten.shape[1], u)
    base = eaten.shape[0] - 22
    assert has(eaten, x, base - (base - 10) * share, reader.color("strong"))


def frame_at(reader, t):
    """The frame at or before t."""
    return int(np.searchsorted(reader.scene()["times"], t * (1 + 1e-9), side="right")) - 1


def test_the_staircase(turned, small):
    """The line is as high as there are clusters, on a log scale from 1 to n."""
    reader = turned(f"{small}&show=")  # without the forecast on top of it
    scene = reader.scene()
    line = reader.picture("timeline")
    accent = reader.color("accent")
    end = scene["clusters"][-1]
    height = {}
    for clusters, u in [(12, 0.01), (end, 0.985)]:
        x = round(along(line.shape[1], u))
        rows = np.abs(line[:, x] - accent).max(axis=1) < 40
        assert rows.any()
        height[clusters] = line.shape[0] - 26 - np.mean(np.nonzero(rows))
    assert height[12] > 50
    unit = (np.log(12) - np.log(0.72)) / height[12]
    assert height[end] == pytest.approx((np.log(end) - np.log(0.72)) / unit, abs=3)


def hold(reader):
    """Hold the page's time; the clock that moves it."""
    # At a moment that a busy machine has not passed when it hears of it.
    reader.page.clock.pause_at(reader.get("Date.now()") + 60_000)
    return reader.page.clock


def test_play_and_pause(opened, small):
    """Time is held and moved by hand, so that nothing depends on the machine."""
    reader = opened(f"{small}&t=0", clock=True, reduced_motion="no-preference")
    clock = hold(reader)
    assert not reader.get("parkade.playing")  # a link that tells its time is not played
    reader.page.keyboard.press(" ")
    assert reader.get("parkade.playing")
    clock.run_for(1000)
    first = reader.view["u"]
    assert 0 < first < 0.3
    reader.page.keyboard.press(" ")
    clock.run_for(1000)
    assert reader.view["u"] == first
    assert not reader.get("parkade.playing")
    # From the end it begins again.
    reader.page.keyboard.press("End")
    reader.on("play").click()
    clock.run_for(1000)
    assert reader.view["u"] == pytest.approx(first, rel=0.1)
    # At the end it stops by itself.
    reader.on("speed").select_option("4")
    clock.run_for(5_000)
    assert reader.t == 100
    assert not reader.get("parkade.playing")


def test_speed(opened, small):
    reader = opened(f"{small}&t=0", clock=True)
    clock = hold(reader)
    gone = {}
    for speed in ["0.25", "1", "4"]:
        reader.on("speed").select_option(speed)
        reader.on("play").focus()
        reader.page.keyboard.press("Home")
        reader.on("play").click()
        clock.run_for(2000)
        gone[speed] = reader.get("parkade.scene.clock(parkade.view.u)")
        reader.on("play").click()
    # A fifteenth of the way in a second, or so; and in proportion.
    assert gone["1"] == pytest.approx(2 / 15, rel=0.2)
    assert gone["4"] == pytest.approx(4 * gone["1"], rel=0.1)
    assert gone["0.25"] == pytest.approx(gone["1"] / 4, rel=0.1)


def test_no_word_covers_another(turned):
    """Names of plateaus give way to what is written there already, and to each other."""
    reader = turned(
        "n=8&d=2&beta=2000&T=1e60&seed=15"
    )  # six clusters late, so high up on the right
    for width, height in [(390, 844), (1366, 650), (1920, 1080)]:
        reader.resize(width, height)
        words = reader.words("timeline")
        assert covered(words) == [], width
        texts = [word["text"] for word in words]
        assert any(text.startswith("forecast") for text in texts)
        assert any("cluster" in text for text in texts)


def test_scrubbing_stops_playing(turned, small):
    reader = turned(small)
    reader.on("play").click()
    expect(reader.on("time")).to_have_attribute("data-playing", "true")
    scrub(reader, 0.5)
    expect(reader.on("time")).to_have_attribute("data-playing", "false")


def test_time_stays_with_another_run(turned, small):
    """A new value leaves the reader where he was; at the end, at the end."""
    reader = turned(f"{small}&t=5")
    reader.type("beta", 8)
    assert reader.t == pytest.approx(5)
    reader.press("End")
    reader.type("T", 1e6)
    assert reader.t == 1e6
