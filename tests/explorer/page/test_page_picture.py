"""The picture, by its pixels: colours, trails, centres and caps are where they belong."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from support.pictures import difference, has, near, ringed

BARE = "t=0&show="
CIRCLE = "n=12&d=2&beta=16&T=100&c=2"
SPHERE = "n=16&c=2&T=50"


def alone(places, within=14):
    """Tokens in front that have nobody near them."""
    apart = np.hypot(*(places[:, None, :2] - places[None, :, :2]).transpose(2, 0, 1))
    np.fill_diagonal(apart, np.inf)
    return [k for k in range(1, len(places)) if places[k, 2] > 0 and apart[k].min() > within]


@pytest.mark.parametrize("link", [CIRCLE, SPHERE, "n=16&d=5&T=50"])
def test_colours_by_position(turned, link):
    """From the first token to the last, the colours are viridis without its palest end."""
    reader = turned(f"{link}&{BARE}&color=position")
    assert reader.on("position-key").is_visible()
    places, ball = reader.places(), reader.picture()
    chosen = alone(places)
    assert len(chosen) >= 4
    for k in chosen:
        viridis = mpl.colormaps["viridis"](0.875 * k / (len(places) - 1))
        assert has(ball, *places[k, :2], 255 * np.array(viridis[:3]), 1, 30), k
    # The first token is a star, in ink.
    assert has(ball, *places[0, :2], reader.color("ink"), 0)
    reader.press("c")
    assert reader.pressed("color-cluster")
    assert reader.on("position-key").is_hidden()
    other = reader.picture()
    assert any(np.abs(near(ball, *places[k, :2]) - near(other, *places[k, :2])).max() > 50
               for k in chosen)  # fmt: skip


def test_colours_by_cluster(turned):
    """Tokens of one cluster have one colour, other clusters others; the first token's is ink."""
    reader = turned("n=40&d=2&beta=64&T=20&show=")
    scene, places, ball = reader.scene(), reader.places(), reader.picture()
    labels = scene["labels"][-1]
    worn = {}
    for k in range(40):
        if (labels == labels[k]).sum() < 3 or labels[k] == 0:
            continue
        color = tuple(near(ball, *places[k, :2], 0)[0])
        worn.setdefault(labels[k], []).append(color)
    assert len(worn) >= 3
    means = {leader: np.mean(colors, axis=0) for leader, colors in worn.items()}
    for leader, colors in worn.items():
        assert np.abs(colors - means[leader]).max() < 40
        others = [means[other] for other in means if other != leader]
        assert min(np.abs(means[leader] - other).max() for other in others) > 40
    assert has(ball, *places[0, :2], reader.color("ink"), 0)


def changed(reader, button):
    """Where the picture changes with a button, as x and y; the button is pressed twice."""
    before = reader.picture()
    pressed = reader.pressed(button)
    reader.click(button)
    assert reader.pressed(button) != pressed
    after = reader.picture()
    reader.click(button)
    assert difference(reader.picture(), before) == ""
    rows, columns = np.nonzero(np.abs(after - before).max(axis=-1) > 8)
    return np.stack([columns, rows], axis=1), after


def circle_of(reader):
    """Centre and radius of the circle on the screen."""
    w, h = reader.get("[document.getElementById('ball').clientWidth, "
                      "document.getElementById('ball').clientHeight]")  # fmt: skip
    middle = np.array([w / 2, h / 2])
    return middle, np.hypot(*(reader.places()[0, :2] - middle))


def test_caps_on_the_circle(turned):
    """Arcs of angle δ to both sides of where a centre started, outside the circle."""
    reader = turned(f"{CIRCLE}&{BARE},strong")
    middle, radius = circle_of(reader)
    where, picture = changed(reader, "show-caps")
    assert len(where) > 100
    away = np.hypot(*(where - middle).T) / radius
    assert away.min() > 1.02
    assert away.max() < 1.3
    scene, strong = reader.scene(), reader.color("strong")
    delta = scene["delta"]
    angles = np.arctan2(-(where - middle)[:, 1], (where - middle)[:, 0])
    starts = scene["frames"][0, scene["centers"]["strong"]]
    starts = np.arctan2(starts[:, 1], starts[:, 0])
    off = np.abs(np.angle(np.exp(1j * (angles[:, None] - starts)))).min(axis=1)
    assert off.max() == pytest.approx(delta, abs=0.03)
    for start in starts:
        way = radius * np.array([np.cos(start), -np.sin(start)])
        lanes = [middle + out * way for out in (1.055, 1.09, 1.125)]
        assert any(has(picture, x, y, strong, 1, 60) for x, y in lanes)


def test_caps_on_the_sphere(turned):
    """The rim of a strong centre's cap is seen at the angle δ from it."""
    reader = turned(f"{SPHERE}&{BARE},strong")
    where, _ = changed(reader, "show-caps")
    assert len(where) > 100
    scene = reader.scene()
    # The screen is where the rotation puts a token: find it from the tokens themselves.
    turn, *_ = np.linalg.lstsq(
        np.column_stack([scene["frames"][0], np.ones(16)]), reader.places()[:, :2]
    )
    depth, *_ = np.linalg.lstsq(scene["frames"][0], reader.places()[:, 2])
    hits = []
    for k in scene["centers"]["strong"]:
        center = scene["frames"][0, k]
        basis = np.linalg.svd(center[None])[2][1:]
        for angle in np.linspace(0, 2 * np.pi, 40, endpoint=False):
            side = np.cos(angle) * basis[0] + np.sin(angle) * basis[1]
            rim = np.cos(scene["delta"]) * center + np.sin(scene["delta"]) * side
            if rim @ depth > 0.1:
                x, y = np.append(rim, 1) @ turn
                hits.append(np.hypot(*(where - [x, y]).T).min() < 2)
    assert len(hits) > 20
    assert np.mean(hits) > 0.95


def test_trails_on_the_circle(turned):
    """The past lies inside the circle."""
    reader = turned(f"{CIRCLE}&show=")
    middle, radius = circle_of(reader)
    where, _ = changed(reader, "show-trails")
    assert len(where) > 500
    away = np.hypot(*(where - middle).T) / radius
    assert away.max() < 1.03
    assert away.min() < 0.5


def test_trails_on_the_sphere(turned):
    """They lead from where tokens started."""
    reader = turned(f"{SPHERE}&{BARE}")
    starts = reader.places()
    assert len(changed(reader, "show-trails")[0]) == 0
    reader.press("End")
    where, _ = changed(reader, "show-trails")
    assert len(where) > 200
    moved = [k for k in range(16) if starts[k, 2] > 0
             and np.hypot(*(reader.places()[k] - starts[k])[:2]) > 20]  # fmt: skip
    assert len(moved) >= 3
    for k in moved:
        assert np.hypot(*(where - starts[k, :2]).T).min() < 3


@pytest.mark.parametrize("link", [CIRCLE, SPHERE])
def test_centres(turned, link):
    """Rings around centres, red around strong ones; a plain ring if red is switched off."""
    reader = turned(f"{link}&{BARE},renyi,strong")
    scene, places = reader.scene(), reader.places()
    strong, ink = reader.color("strong"), reader.color("ink")
    centers = {which: set(scene["centers"][which]) for which in ["renyi", "strong"]}
    chosen = alone(places, 22)

    def rings(picture, color):
        return {k for k in chosen if ringed(picture, *places[k, :2], 7.5, color, within=80)}

    both = reader.picture()
    assert rings(both, strong) == centers["strong"] & set(chosen) != set()
    assert rings(both, ink) == (centers["renyi"] - centers["strong"]) & set(chosen)
    reader.press("s")
    plain = reader.picture()
    assert rings(plain, strong) == set()
    assert rings(plain, ink) == centers["renyi"] & set(chosen)
    reader.press("r")
    assert rings(reader.picture(), ink) == set()
    reader.press("s")
    only = reader.picture()
    assert rings(only, strong) == centers["strong"] & set(chosen)
    assert rings(only, ink) == set()


def test_names(turned):
    """Clusters are named beside their leaders."""
    reader = turned(f"{CIRCLE}&show=&t=10")
    where, _ = changed(reader, "show-names")
    assert len(where) > 30
    scene, places = reader.scene(), reader.places()
    frame = int(np.searchsorted(scene["times"], 10, side="right")) - 1
    leaders = [k for k in range(12) if (scene["labels"][frame] == k).sum() > 1]
    for x, y in where:
        assert min(np.hypot(x - places[k, 0], y - places[k, 1]) for k in leaders) < 75


def test_frozen_tokens_are_squares(turned):
    reader = turned("n=30&d=2&beta=36&T=50&frozen=strong&c=2&show=")
    ball, accent = reader.picture(), reader.color("accent")
    held = [k for k in reader.scene()["frozen_tokens"] if k]
    assert held
    for k in held:
        x, y, _ = reader.places()[k]
        assert all(has(ball, x + dx, y + dy, accent, 1) for dx in (-3, 3) for dy in (-3, 3))


def test_dark(opened):
    """The same picture on dark ground; the choice outlives the page and stays out of the link."""
    reader = opened(f"{SPHERE}&{BARE}&color=position")
    light = reader.picture()
    link = reader.link
    reader.click("theme")
    dark = reader.picture()
    assert light[2, 2].sum() > 700
    assert dark[2, 2].sum() < 120
    for k in alone(reader.places()):
        assert np.abs(near(dark, *reader.places()[k, :2], 0) - reader.color("ball")).max() > 60
    assert reader.link == link
    reader.page.reload()
    reader.idle()
    assert reader.theme == "dark"
    assert difference(reader.picture(), dark) == ""


# Counts how often each canvas is drawn, from now on.
_COUNTED = """() => {
  window.drawn = {};
  const pen = CanvasRenderingContext2D.prototype;
  const { clearRect } = pen;
  pen.clearRect = function (...box) {
    drawn[this.canvas.id] = (drawn[this.canvas.id] ?? 0) + 1;
    clearRect.apply(this, box);
  };
}"""


def test_nothing_is_drawn_twice(opened, small):
    """A new scene is drawn once, though its texts may leave it less room; so is a new colour."""
    reader = opened(small)
    once = dict.fromkeys(["ball", "timeline", "consumption", "attention"], 1)
    reader.page.evaluate(_COUNTED)
    high = set()
    for seed in (5, 6, 7):
        reader.type("seed", seed)
        assert reader.get("drawn") == once
        reader.get("{ drawn = {}; }")
        high.add(reader.get("document.getElementById('ball-box').getBoundingClientRect().height"))
    assert len(high) > 1
    reader.press("c")
    assert reader.get("drawn") == once
    # In a window of another size, all is drawn in that size.
    reader.resize(1100, 700)
    for name in once:
        box, canvas = reader.on(name).bounding_box(), f"document.getElementById('{name}')"
        assert reader.get(f"[{canvas}.width, {canvas}.height]") == [
            pytest.approx(box[side], abs=1) for side in ("width", "height")
        ]
