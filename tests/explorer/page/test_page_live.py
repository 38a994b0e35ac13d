"""Pages that compute by themselves: one file, opened from a disk with the network cut."""

from __future__ import annotations

import base64
import gzip
import json
import re
from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import expect
from support.explorer import assert_close, frames, labels
from support.reader import SLOW_SCREEN, download

from parkade.explorer import Settings, scene
from parkade.explorer.standalone import contents
from parkade.explorer.standalone.export import page

SETTINGS = {"n": 20, "d": 2, "beta": 16.0, "T": 1e4}


def compare(mine, settings):
    """A scene of a page against the server's for the same settings."""
    theirs, name = scene(settings), str(settings)
    np.testing.assert_array_equal(labels(mine), labels(theirs), name)
    np.testing.assert_allclose(frames(mine), frames(theirs), atol=1e-6, err_msg=name)
    for result in (mine, theirs):
        del result["frames"], result["labels"]
        del result["stats"]["seconds"]
    assert_close(mine, json.loads(json.dumps(theirs)), rtol=1e-8, atol=1e-12, path=name)


def check_all(from_disk, shown, usual, changes):
    """The scenes of a page after changes, of which it opens on the first."""
    reader = from_disk(shown, urlencode(usual | changes[0]))
    for wanted in [usual | change for change in changes]:
        reader.follow(urlencode(wanted))
        check_scene(reader, wanted)


def check_scene(reader, wanted):
    """The scene of these settings is there."""
    assert reader.state == "ready", wanted
    compare(reader.data(), wanted)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A live page of a small run."""
    target = tmp_path_factory.mktemp("live") / "page.html"
    target.write_text(page(scene(SETTINGS), live=True), encoding="utf-8")
    return target


@pytest.fixture(scope="module")
def opened_file(left_open, file):
    """A reader of the live page, for `alive`."""
    return left_open(file)


@pytest.fixture
def alive(opened_file):
    """A reader of the live page as the test before left it, on its own scene again."""
    opened_file.begin(opened_file.origin)
    opened_file.follow("t=10000")
    yield opened_file
    opened_file.check_file()


def test_it_opens_on_its_own_scene(from_disk, file):
    reader = from_disk(file, "t=3")
    assert reader.get("document.documentElement.dataset.mode") == "live"
    assert reader.state == "ready"
    mine = reader.data()  # numbers are packed as Python does, to the last bit
    assert mine == json.loads(json.dumps(scene(SETTINGS))) | {"stats": mine["stats"]}
    assert reader.t == pytest.approx(3)
    assert reader.value("beta") == "16"
    # What pages do not compute is not offered.
    assert reader.on("download-npz").is_hidden()
    for name in ("norm", "heads", "mlp", "noise", "growth", "d", "mask-window"):
        assert reader.on(name).count() == 0 or reader.on(name).is_hidden(), name


CHANGES = [
    {"beta": 40.0},
    {"V": "1,0.5"},
    {"V": "0,-1;1,0", "T": 50.0},
    {"Q": "random:3", "beta": 4.0},
    {"mask": "full", "T": 50.0},
    {"frozen": "strong", "beta": 64.0},
    {"seed": 12, "n": 1},
    {"n": 100, "beta": 64.0, "T": 1e60},
]
PARTS = [
    {"heads": 2},
    {"norm": "pre"},
    {"norm": "mix", "T": 1e3, "encoding": "alibi"},
    {"encoding": "rope", "heads": 2, "rank": 2, "norm": "ngpt"},
    {"mask": "window", "reach": 4},
    {"mask": "prefix", "reach": 4, "T": 5.0, "beta": 4.0, "seed": 3},
    {"mlp": 4, "T": 0.1},
    {"growth": 2.0, "T": 100.0},
    {"growth": 2.0, "T": 50.0, "heads": 2},
    {"noise": 0.1, "T": 2.0},
]
GLOBE = {"n": 16, "d": 3, "T": 50.0}


def test_scenes_are_those_of_the_server(alive):
    for wanted in [SETTINGS | change for change in CHANGES]:
        alive.follow(urlencode(wanted))
        check_scene(alive, wanted)


def test_scenes_of_transformers_are_those_of_the_server(from_disk):
    """In a page of a run with two heads, which computes all parts of a transformer."""
    shown = page(scene(SETTINGS | {"heads": 2, "T": 10.0}), live=True)
    assert len(shown) < 1_050_000
    check_all(from_disk, shown, SETTINGS | {"heads": 1}, PARTS)


def test_scenes_on_the_sphere(from_disk):
    shown = page(scene(GLOBE), live=True)
    check_all(from_disk, shown, GLOBE, [{"beta": 16.0}, {"V": "1,1,-1", "seed": 3}])


def test_a_slider_changes_the_scene(alive):
    alive.type("beta", 4)
    assert alive.data()["settings"] == Settings.read(SETTINGS | {"beta": 4.0}).to_dict()
    assert alive.link.startswith("beta=4")
    compare(alive.data(), SETTINGS | {"beta": 4.0})
    alive.click("undo")
    assert alive.data()["settings"]["beta"] == 16
    alive.select("beside", "mask")
    assert alive.get("parkade.beside.mask") == "full"


def test_what_is_wrong_is_told_at_its_control(alive):
    for name, value, sentence in [
        ("n", "0", "n must be a whole number from 1 to 2000, got 0"),
        ("beta", "much", "beta must be a number from 0 to 10⁶, got 'much'"),
        ("T", "NaN", "T must be a number from 0.001 to 10⁶⁰, got 'NaN'"),
    ]:
        before = alive.value(name)
        alive.type(name, value)
        assert alive.text(f"{name}-error") == sentence
        assert alive.state == "error"
        alive.type(name, before)
        assert alive.on(f"{name}-error").is_hidden()
        assert alive.state == "ready"
    alive.follow("d=8&heads=2&mask=window&V=x,y")
    assert "V must be a number" in alive.text("V-error")
    alive.follow("d=8&mask=window")
    assert alive.text("d-error").startswith("this page computes d=2 only, got 8; use parkade")
    assert "'causal' or 'full' only, got 'window'" in alive.text("mask-error")


def test_runs_without_end_are_stopped_with_a_sentence(alive):
    alive.follow("n=16&V=1,-1;1,1&Q=1,2;0,1&T=1e30")
    assert alive.text("T-error").startswith("T=10³⁰ would take about 4.3·10²⁹ steps of 16 tokens")
    assert alive.state == "error"
    alive.click("go-back")
    assert alive.state == "ready"


def test_progress_and_cancel(alive):
    alive.on("n").fill("2000")
    alive.on("n").blur()
    expect(alive.on("progress")).to_be_visible()
    expect(alive.on("progress-text")).to_contain_text("%")
    alive.click("cancel")
    assert alive.state == "stale"
    assert alive.data()["n"] == 20
    # The Worker is free again.
    alive.type("n", 10)
    assert alive.data()["n"] == 10


def test_two_hundred_changes(alive):
    """None is lost, the last one is shown, and memory does not grow."""
    alive.follow("n=12&T=50")
    usual = "window.usual = requestAnimationFrame;"
    alive.get(f"{{ {usual} {SLOW_SCREEN} }}")
    slide = """async ([first, last]) => {
      const slider = document.getElementById('beta-slider');
      for (let i = first; i < last; i++) {
        slider.value = 0.3 + 0.5 * ((i * 37) % 100) / 100;
        slider.dispatchEvent(new Event('input', { bubbles: true }));
        if (i % 4 === 0) slider.dispatchEvent(new Event('change', { bubbles: true }));
        await new Promise((done) => { setTimeout(done, 10); });
      }
      slider.dispatchEvent(new Event('change', { bubbles: true }));
      await parkade.idle();
      return parkade.memory;
    }"""
    early = alive.page.evaluate(slide, [0, 100])
    late = alive.page.evaluate(slide, [100, 200])
    alive.get("{ requestAnimationFrame = usual; }")
    # Another β may take a few pages of 64 KiB more; hundred leaks would take more than that.
    assert 0 < max(late) <= max(early) + 4 * 2**16
    assert alive.state == "ready"
    assert alive.data()["settings"]["beta"] == alive.settings["beta"]
    assert alive.settings["beta"] == float(alive.value("beta"))
    compare(alive.data(), alive.settings)


def altered(text, name, change):
    """A live page with another content of what it carries."""

    def other(result):
        data = change(gzip.decompress(base64.b64decode(result[1])))
        return f'data-carried="{name}">{base64.b64encode(gzip.compress(data)).decode()}<'

    return re.sub(rf'data-carried="{name}">([^<]*)<', other, text, count=1)


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        ({"memory": 2.0**17}, "stopped at 0.125 MiB of steps, at t="),
        ({"token_steps": 5000}, "stopped at 5000 steps of single tokens, at t="),
        ({"seconds": 0}, "stopped after 0 s, at t="),
    ],
    ids=str,
)
def test_limits_are_told_and_the_page_lives_on(from_disk, file, limits, sentence):
    def less(data):
        known = json.loads(data)
        known["limits"].update(limits)
        return json.dumps(known).encode()

    reader = from_disk(altered(file.read_text(encoding="utf-8"), "knowledge.json", less))
    reader.follow("n=40&beta=64&T=1e8")
    said = reader.text("form-error")
    assert said.startswith(sentence)
    assert said.endswith("choose a smaller T or n, or use parkade explore")
    assert reader.text("message") == said
    if "seconds" not in limits:
        reader.type("T", 1)
        assert reader.state == "ready"
        assert reader.on("message").is_hidden()


@pytest.mark.parametrize(
    ("module", "sentence"),
    [("scene", "this is a bug in parkade ("), (None, "The engine could not be loaded (")],
)
def test_an_engine_that_fails_is_told(from_disk, file, module, sentence):
    """Another module in its place, or none: one sentence, and the picture stays."""
    text = file.read_text(encoding="utf-8")
    instead = b"nothing" if module is None else contents.carried((2,))[f"engines/{module}.wasm"]
    reader = from_disk(altered(text, "engines/implicit2.wasm", lambda _: instead))
    reader.type("beta", 20)
    assert reader.text("form-error").startswith(sentence)
    assert reader.data()["beta"] == 16
    reader.click("go-back")
    assert reader.state == "ready"


def test_it_writes_itself(alive, from_disk, tmp_path):
    alive.type("beta", 9)
    alive.go(5.0)
    name, data = download(alive, "live")
    assert name == "parkade-n20-d2-beta9-T10000-seed1.html"
    (tmp_path / name).write_bytes(data)
    again = from_disk(tmp_path / name)
    assert again.data()["settings"]["beta"] == 9
    assert again.t == pytest.approx(5)
    again.type("beta", 16)
    compare(again.data(), SETTINGS)


def test_the_explorer_makes_one(turned, from_disk, tmp_path):
    live = turned("n=12&d=3&beta=9&T=100&t=2")
    name, data = download(live, "live")
    assert name == "parkade-n12-d3-beta9-T100-seed1.html"
    (tmp_path / name).write_bytes(data)
    reader = from_disk(tmp_path / name)
    assert reader.t == pytest.approx(2)
    reader.type("beta", 16)
    compare(reader.data(), {"n": 12, "d": 3, "beta": 16.0, "T": 100.0})


def test_in_a_notebook(notebook):
    """In the sandbox of a notebook it computes, too."""
    frame = notebook(live=True, embed=True)
    frame.locator("#beta").fill("30")
    frame.locator("#beta").blur()
    frame.evaluate("() => parkade.idle()")
    assert frame.evaluate("() => parkade.scene.beta") == 30
    # An embedded page has few controls, and no menu.
    assert frame.locator(".field:visible").count() == 3
    assert frame.locator("header").is_hidden()


NO_VECTORS = "WebAssembly.validate = () => false;"
NO_WORKERS = "delete globalThis.Worker;"


@pytest.mark.parametrize("missing", [NO_VECTORS, NO_WORKERS])
def test_without_what_it_needs_it_plays(browser, file, missing):
    context = browser.new_context(offline=True, reduced_motion="reduce")
    context.add_init_script(missing)
    tab = context.new_page()
    tab.goto(file.as_uri())
    tab.evaluate("() => parkade.ready.then(() => parkade.idle())")
    assert tab.evaluate("() => parkade.scene.n") == 20
    assert "plays a recorded run; a newer browser" in tab.locator("#lacks").inner_text()
    assert tab.locator("#settings").is_hidden()
    tab.keyboard.press("Home")
    assert tab.evaluate("() => parkade.t") == 0
    context.close()


def test_a_browser_that_cannot_unpack_says_so(browser, file):
    context = browser.new_context(offline=True)
    context.add_init_script("delete globalThis.DecompressionStream;")
    tab = context.new_page()
    tab.goto(file.as_uri())
    expect(tab.locator("#message")).to_contain_text("cannot unpack this page; a newer one can")
    context.close()


def test_nothing_else_is_allowed(alive):
    """No foreign script, no eval, no network: the policy refuses them."""
    tried = alive.page.evaluate(
        """async () => {
          const blocked = [];
          document.addEventListener(
            'securitypolicyviolation', (e) => blocked.push(e.effectiveDirective));
          const script = document.createElement('script');
          script.textContent = 'window.foreign = true';
          document.body.append(script);
          await fetch('https://x.example/').catch(() => {});
          const image = new Image();
          image.src = 'https://x.example/y.png';
          try { new Worker('data:text/javascript,1'); } catch {}
          const inner = document.createElement('script');
          inner.src = 'https://x.example/z.js';
          document.body.append(inner);
          // The browser tells some of them later.
          while (new Set(blocked).size < 4) await new Promise((done) => { setTimeout(done, 10); });
          return [blocked, window.foreign ?? null];
        }"""
    )
    assert tried[1] is None
    assert {"script-src-elem", "connect-src", "img-src", "worker-src"} <= set(tried[0])
    alive.forgive("Content Security Policy")
    alive.forgive("x.example", certain=False)
    alive.asked = [url for url in alive.asked if "x.example" not in url]
    alive.wrong = []


def test_texts_are_not_run(alive):
    said = alive.page.evaluate(
        """() => new Promise((done) => {
          const frame = document.createElement('button');
          frame.setAttribute('onclick', 'window.foreign = true');
          document.body.append(frame);
          frame.click();
          setTimeout('window.foreign = "eval"', 1);
          setTimeout(() => done(window.foreign ?? 'nothing'), 100);
        })"""
    )
    assert said == "nothing"
    alive.forgive("Content Security Policy")
