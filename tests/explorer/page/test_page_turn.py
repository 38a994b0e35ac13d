"""Turning, zooming and moving the picture, by mouse, touch and keys."""

from __future__ import annotations

import numpy as np
import pytest
from support.pictures import difference, has

LINK = "n=16&c=2&T=50&t=0&show=&color=position"


def middle(reader):
    """The middle of the picture, on the page."""
    box = reader.on("ball").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def rotation(before, after):
    """The matrix that turns the places before into those after, which must be one."""
    shape = [p - p.mean(axis=0) for p in (before, after)]
    matrix, *_ = np.linalg.lstsq(*shape)
    np.testing.assert_allclose(shape[0] @ matrix, shape[1], atol=1e-3)
    return matrix


def rigid(reader):
    """Places with depth on the scale of the screen, y up."""
    tokens = reader.scene()["frames"][0]
    places = reader.places()
    row, *_ = np.linalg.lstsq(np.column_stack([tokens, np.ones(len(tokens))]), places[:, 0])
    return places * [1, -1, np.linalg.norm(row[:3])]


def test_drag(turned):
    reader = turned(LINK)
    assert reader.on("reset-view").is_hidden()
    before, start = rigid(reader), reader.picture()
    k = 1 + int(before[1:, 2].argmax())
    x, y, _ = reader.places()[k]
    color = start[round(y), round(x)]
    reader.drag(80, 0)
    after, picture = rigid(reader), reader.picture()
    turned = rotation(before, after)
    np.testing.assert_allclose(turned @ turned.T, np.eye(3), atol=1e-6)
    # To the right, about the upright axis: heights stay, what is in front goes right.
    np.testing.assert_allclose(after[:, 1], before[:, 1], atol=1e-6)
    front = before[:, 2] > 100
    assert (after[front, 0] > before[front, 0]).all()
    assert not np.array_equal(picture, start)
    # The nearest token is seen at its new place, and not at the old one.
    assert has(picture, *reader.places()[k, :2], color, 1, 25)
    assert not has(picture, x, y, color, 0, 25)
    assert "turn=" in reader.link
    reader.click("reset-view")
    assert difference(reader.picture(), start) == ""
    assert "turn=" not in reader.link


def test_drag_turns_the_circle_in_its_plane(turned):
    reader = turned("n=12&d=2&beta=16&T=100&t=0")
    before = rigid(reader)
    x, y = middle(reader)
    reader.page.mouse.move(x + 100, y)
    reader.page.mouse.down()
    reader.page.mouse.move(x, y - 100, steps=8)
    reader.page.mouse.up()
    reader.idle()
    turned = rotation(before[:, :2], rigid(reader)[:, :2])
    np.testing.assert_allclose(turned, [[0, 1], [-1, 0]], atol=0.05)  # a quarter, leftwards


def test_keys(turned):
    reader = turned(LINK)
    before = rigid(reader)
    reader.on("ball").focus()
    reader.press("ArrowRight")
    np.testing.assert_allclose(rigid(reader)[:, 1], before[:, 1], atol=1e-6)
    assert np.abs(rigid(reader) - before).max() > 10
    reader.press("ArrowLeft", "ArrowDown", "Shift+ArrowUp")
    np.testing.assert_allclose(rigid(reader)[:, 0], before[:, 0], atol=1e-6)
    reader.press("+")
    assert reader.view["zoom"] == pytest.approx(1.25)
    reader.press("-", "-")
    assert reader.view["zoom"] == pytest.approx(0.8)
    reader.press("0")
    np.testing.assert_allclose(rigid(reader), before, atol=1e-6)


def test_wheel_and_shift(turned):
    """The wheel keeps what is under the pointer there; Shift and drag moves all."""
    reader = turned(LINK)
    places = reader.places()
    k = int(places[:, 2].argmax())
    box = reader.on("ball").bounding_box()
    # A pointer is at whole pixels.
    x, y = np.round([box["x"] + places[k, 0], box["y"] + places[k, 1]])
    under = np.array([x - box["x"], y - box["y"]])
    reader.page.mouse.move(x, y)
    reader.page.mouse.wheel(0, -400)
    reader.idle()
    zoom = reader.view["zoom"]
    assert zoom > 1.5
    zoomed = reader.places()
    expected = under + zoom * (places[k, :2] - under)
    np.testing.assert_allclose(zoomed[k, :2], expected, atol=0.1)
    np.testing.assert_allclose(zoomed[:, :2] - zoomed[k, :2],
                               zoom * (places[:, :2] - places[k, :2]), atol=2)  # fmt: skip
    reader.page.keyboard.down("Shift")
    reader.drag(30, -40)
    reader.page.keyboard.up("Shift")
    np.testing.assert_allclose(reader.places()[:, :2] - zoomed[:, :2], [[30, -40]] * 16, atol=1)
    np.testing.assert_allclose(reader.places()[:, 2], zoomed[:, 2], atol=1e-6)
    assert "zoom=" in reader.link
    assert "pan=" in reader.link


def test_touch(opened):
    """One finger turns, two zoom, a tap keeps a token."""
    reader = opened(LINK, has_touch=True)
    reader.on("ball").scroll_into_view_if_needed()
    touch = reader.context.new_cdp_session(reader.page)
    x, y = middle(reader)

    def fingers(kind, *points):
        fingers_down = [{"x": px, "y": py, "id": i} for i, (px, py) in enumerate(points)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": fingers_down})

    before = rigid(reader)
    fingers("touchStart", (x, y))
    for step in range(1, 5):
        fingers("touchMove", (x + 15 * step, y))
    fingers("touchEnd")
    reader.idle()
    np.testing.assert_allclose(rigid(reader)[:, 1], before[:, 1], atol=1e-6)
    assert np.abs(rigid(reader) - before).max() > 20
    fingers("touchStart", (x - 50, y), (x + 50, y))
    for step in range(1, 6):
        fingers("touchMove", (x - 50 - 10 * step, y), (x + 50 + 10 * step, y))
    fingers("touchEnd")
    reader.idle()
    assert reader.view["zoom"] == pytest.approx(2, rel=0.1)
    reader.press("0")
    box, place = reader.on("ball").bounding_box(), reader.places()
    k = int(place[:, 2].argmax())
    reader.page.touchscreen.tap(box["x"] + place[k, 0], box["y"] + place[k, 1])
    reader.idle()
    assert reader.view["token"] == k
