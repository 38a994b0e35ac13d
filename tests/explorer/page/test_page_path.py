"""Pages of paths without a model: what cannot be shown is hidden, and the rest works."""

from __future__ import annotations

import numpy as np
import pytest
from support.explorer import MODEL_ONLY
from support.pictures import difference, near, same
from support.reader import PHONE, download

import parkade as pk
from parkade.explorer.scenes.build import build
from parkade.explorer.standalone.export import page

HIDDEN = ["equation", "attention-panel", "consumption-panel", "show-renyi", "show-strong",
          "show-caps", "predicted", "seen", "agreement", "settings"]  # fmt: skip
OPTIONAL = ("label", "file_name", "facts", "axes", "plateaus", "merges", "frozen",
            "frozen_weights", "frozen_tokens", "trusted_until", "phase_known_until",
            *MODEL_ONLY)  # fmt: skip


def path_scene(d=3):
    """The scene of a path that knows its tokens only."""
    run = pk.simulate(pk.Attention(d=d, beta=9.0), pk.sphere.uniform(20, d, seed=4), 40.0)
    scene = build(run) | dict.fromkeys(MODEL_ONLY)
    return scene | {
        "label": f"path of 20 tokens, d = {d}",
        "file_name": f"parkade-n20-d{d}",
        "facts": {"n": "20", "d": str(d), "T": 40.0},
    }


@pytest.mark.parametrize("d", [2, 3, 5])
def test_what_is_hidden_and_what_is_shown(from_disk, d):
    reader = from_disk(page(path_scene(d)))
    for name in HIDDEN:
        assert reader.on(name).is_hidden(), name
    assert reader.text("shown") == f"path of 20 tokens, d = {d}"
    known = "The picture shows the tokens, their clusters and how these merge. "
    unknown = "Not known here: attention weights, Rényi centres, a prediction."
    assert reader.text("missing") == known + unknown
    assert reader.text("status").startswith(f"20 tokens in {d} dimensions · ")
    assert "trusted" not in reader.text("status")
    facts = reader.page.locator("#facts dl").inner_text().split("\n")
    assert facts == ["n", "20", "d", str(d), "T", "40"]
    assert reader.text("facts-title") == "This path"
    for word in ["attends", "Rényi", "eigenspace"]:
        assert word not in reader.page.locator("#facts").inner_text()
    ball, ground = reader.picture(), reader.color("ball")
    front = [p for p in reader.places() if p[2] > 0]
    assert all(np.abs(near(ball, x, y, 0) - ground).max() > 40 for x, y, _ in front)


def test_a_path_can_be_played_and_saved(from_disk):
    """Time, tokens, colours, keys and downloads, as for any run."""
    reader = from_disk(page(path_scene()))
    end = reader.picture()
    reader.press("Home")
    assert reader.t == 0
    assert not same(reader.picture(), end)
    assert reader.text("clusters") == "20 clusters"
    reader.type("token", 3)
    lines = reader.text("token-text").split("\n")
    assert lines == ["x₃ alone.", "Drift 0° from its start."]
    reader.on("token").blur()
    reader.point_at(0)
    assert reader.text("tip").split("\n")[1:] == [
        "alone",
        "the first token",
        "Drift 0° from its start",
    ]
    # The keys of what is hidden do nothing.
    before = reader.view
    reader.press("g", "r", "s", "p")
    assert reader.view == before
    reader.press("c", "t", "d", "]", "?")
    assert (reader.view["color"], reader.view["trails"]) == ("position", False)
    assert reader.theme == "dark"
    assert reader.on("help").locator("p:visible").count() == 3
    reader.press("Escape")
    name, data = download(reader, "svg")
    assert name == "parkade-n20-d3.svg"
    assert "path of 20 tokens, d = 3" in data.decode()
    name, data = download(reader, "png")
    assert (name, data[:4]) == ("parkade-n20-d3.png", b"\x89PNG")


def test_a_phone(from_disk):
    reader = from_disk(page(path_scene()), **PHONE)
    assert reader.get("document.documentElement.scrollWidth") <= 360
    top = {
        name: reader.on(name).bounding_box()["y"] for name in ["ball", "play", "facts", "missing"]
    }
    assert top["ball"] < top["play"] < top["facts"] < top["missing"]


@pytest.fixture(scope="module")
def scenes():
    """Scenes that lack nothing, by dimension."""
    return {
        d: build(pk.simulate(pk.Attention(d, 9.0), pk.sphere.uniform(6, d, seed=4), 5.0))
        for d in (3, 5)
    }


@pytest.fixture(scope="module")
def reader(left_open, scenes, tmp_path_factory):
    """A reader of a page that shows one scene after another."""
    file = tmp_path_factory.mktemp("path") / "page.html"
    file.write_text(page(scenes[5]), encoding="utf-8")
    reader = left_open(file)
    reader.resize(700, 500)  # small pictures are drawn faster
    return reader


def without(scene, part):
    """A scene with null in the place of a part, and one where it is not there at all."""
    return scene | {part: None}, {name: scene[name] for name in scene if name != part}


# Shows two scenes and presses keys; tells whether the second scene, and then the keys, gave another
# picture to the eye. The first one is shown again while its picture changes its size: at first,
# edges are a bit other then. All in the page: this takes half of the CPU of one call for each step.
_SHOW = """async ([one, other, keys]) => {
  const ball = document.getElementById('ball');
  const show = async (data) => {
    const before = ball.height;
    parkade.show(data);
    const resized = ball.height !== before;
    await parkade.idle();
    return resized;
  };
  let now;
  const redrawn = () => {
    const before = now;
    now = ball.getContext('2d').getImageData(0, 0, ball.width, ball.height).data;
    for (let i = 0; i < now.length; i += 4) {  // on white paper
      const a = now[i + 3] / 255;
      for (let k = i; k < i + 3; k++) now[k] = 255 - a * (255 - now[k]);
      now[i + 3] = 255;
    }
    return before?.length !== now.length || now.some((part, i) => Math.abs(part - before[i]) > 8);
  };
  for (const data of [one, one, one]) if (!await show(data)) break;
  redrawn();
  await show(other);
  const differs = redrawn();
  const text = document.getElementById('token-text').innerText;
  for (const key of keys) {
    document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
  }
  await parkade.idle();
  return { differs, text, moved: redrawn() };
}"""


@pytest.mark.parametrize("missing", OPTIONAL)
def test_any_part_may_be_missing(reader, scenes, missing):
    """Null or not there at all, alone: the page is drawn and nothing goes wrong."""
    reader.begin(reader.origin)
    reader.page.goto(f"{reader.origin}#token=2")
    null, rest = without(scenes[3 if missing == "axes" else 5], missing)
    result = reader.page.evaluate(_SHOW, [null, rest, ["Home", ".", "c", "Escape"]])
    assert not result["differs"]
    assert result["text"]
    assert result["moved"]
    reader.check_file()


@pytest.mark.parametrize("missing", ["settings", "facts", "stats"])
def test_a_file_may_begin_without(from_disk, scenes, missing):
    """What the page asks of its own scene before it is drawn."""
    null, rest = without(scenes[5], missing)
    first = from_disk(page(null), "token=2").picture()
    other = from_disk(page(rest), "token=2", instead=True)
    assert difference(other.picture(), first) == ""
    assert other.text("token-text")


def test_nothing_but_tokens(from_disk):
    """The least a scene can have."""
    scene = {name: value for name, value in path_scene().items() if name not in OPTIONAL}
    reader = from_disk(page(scene))
    assert reader.text("shown") == "20 tokens, d = 3"
    assert reader.text("clusters") == f"{scene['clusters'][-1]} clusters"
    name, _ = download(reader, "svg")
    assert name == "parkade.svg"


def test_a_model_that_is_not_attention(from_disk):
    """Centres and a prediction without weights: only the weights are missing."""
    run = pk.simulate(pk.Attention(d=3, beta=9.0), pk.sphere.uniform(20, 3, seed=4), 40.0)
    reader = from_disk(
        page(build(run) | {"A": None, "mask": "window", "equation": ["mtext", None, "f"]})
    )
    assert reader.on("attention-panel").is_hidden()
    assert reader.on("consumption-panel").is_visible()
    assert reader.text("equation") == "f"
    assert reader.text("predicted")
    assert reader.text("missing").endswith("Not known here: attention weights.")
