"""Pages that compute by themselves: what they carry, what they may do, and which runs they show."""

from __future__ import annotations

import base64
import gzip
import json
import re

import numpy as np
import pytest
from support.commands import invoke
from support.explorer import Client, refused

import parkade as pk
from parkade.base.errors import InputError
from parkade.explorer import Settings, scene
from parkade.explorer.settings import rules
from parkade.explorer.settings.presets import presets
from parkade.explorer.standalone import contents, export, folder


@pytest.fixture(scope="module")
def run():
    x0 = pk.sphere.uniform(20, 2, seed=7)
    return pk.simulate(pk.Attention(d=2, beta=16.0, V=[1, 0.5]), x0, 10.0)


@pytest.fixture(scope="module")
def shown(run):
    return run.show(live=True, view="t=3").text


def unpacked(text):
    return gzip.decompress(base64.b64decode(text))


def policy(text):
    (content,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    return dict(part.split(" ", 1) for part in content.split("; "))


def test_the_settings_of_a_run(run):
    settings = contents.settings_of(run)
    assert settings == Settings(n=20, d=2, beta=16.0, T=10.0, V="1,0.5", seed=7)
    x0 = pk.sphere.uniform(5, 3, seed=999)
    Q, K, V = np.random.default_rng(1).uniform(-1, 1, (3, 3, 3))
    other = pk.simulate(pk.Attention(3, 2.0, Q=Q, K=K, V=V, mask="full"), x0, 1.0)
    again = contents.settings_of(other)
    assert (again.mask, again.seed, again.K) == ("full", 999, "I")
    np.testing.assert_array_equal(again.model.product, other.model.product)
    np.testing.assert_array_equal(again.model.generator, V)


@pytest.mark.parametrize(
    ("model", "start", "options", "sentence"),
    [
        (pk.Attention(5), pk.sphere.uniform(5, 5, seed=1), {}, "got d=5; make a page without"),
        (pk.Attention(2), pk.sphere.uniform(5, 2, seed=1000), {}, "got another start"),
        (pk.Attention(2, mask="window(2)"), pk.sphere.uniform(5, 2, seed=1), {}, "window"),
        (pk.Transformer(2, d=2, seed=1), pk.sphere.uniform(5, 2, seed=1), {}, "got 2 heads"),
        (
            pk.Attention(2),
            pk.sphere.uniform(5, 2, seed=1),
            {"frozen": pk.sphere.uniform(1, 2, seed=2)},
            "with frozen tokens",
        ),
    ],
)
def test_runs_that_pages_cannot_compute(model, start, options, sentence):
    with pytest.raises(InputError, match=sentence):
        pk.simulate(model, start, 1.0, **options).show(live=True)
    assert '<html lang="en">' in pk.simulate(model, start, 1.0, **options).show().text


def test_a_path_has_nothing_to_compute():
    path = pk.Path([0.0, 1.0], np.stack([pk.sphere.uniform(5, 2, seed=1)] * 2))
    with pytest.raises(InputError, match="a run without a model"):
        path.show(live=True)


def test_a_live_page_has_all_inside(run, shown):
    assert '<html data-live="file" lang="en">' in shown
    (text,) = re.findall(r'data-packed="" data-view="t=3" id="scene">([^<]*)<', shown)
    inside = json.loads(unpacked(text))
    assert inside["settings"] == contents.settings_of(run).to_dict()
    carried = {
        name: unpacked(text)
        for name, text in re.findall(r'data-carried="([^"]*)">([^<]*)</script>', shown)
    }
    assert carried == contents.carried((2,), parts=False)
    assert {name for name in carried if name.startswith("engines/")} == {
        f"engines/{name}.wasm" for name in ("plan", "scene", "explicit2", "implicit2")
    }
    knowledge = json.loads(carried["knowledge.json"])
    assert [field["name"] for field in knowledge["fields"]] == list(Settings().to_dict())
    for preset in json.loads(carried["presets.json"]):
        assert preset["settings"]["d"] == 2
        assert not rules.beyond(Settings.read(preset["settings"]))


def test_a_live_page_may_do_two_things_more(run, shown):
    """Compile WebAssembly and start its own Worker: nothing else, and others nothing of it."""
    usual, mine = policy(run.show().text), policy(shown)
    assert mine.pop("worker-src") == "blob:"
    script = mine.pop("script-src").split()
    assert [word for word in script if "sha256" not in word] == ["'wasm-unsafe-eval'"]
    assert len(script) == len(usual.pop("script-src").split()) + 1
    assert mine == usual


def test_a_live_page_is_at_most_one_megabyte():
    life = scene({"n": 200, "d": 2, "beta": 64, "T": 1e60})
    assert len(export.page(life, live=True).encode()) <= 1_000_000


def test_the_command(run, tmp_path):
    run.save(tmp_path / "run.npz")
    target = tmp_path / "page.html"
    arguments = ["export", str(tmp_path / "run.npz"), "--live", "--embed", "-o", str(target)]
    done = invoke(*arguments)
    assert done.exit_code == 0, done.output
    assert '<html data-embed data-live="file"' in target.read_text(encoding="utf-8")
    done = invoke("export", "--tour", "--live", "-o", str(target))
    assert done.exit_code == 2
    assert "omit --live" in done.stderr


def test_the_server_makes_live_pages_too():
    client = Client()
    response = client.post("/api/download/live", {"n": 10, "d": 2, "T": 5})
    assert response.status_code == 200
    assert '<html data-live="file"' in response.text
    got = client.post("/api/download/live", {"n": 10, "d": 8, "T": 5, "heads": 2})
    assert refused(got, 422, "got d=8; make a page without controls")


def test_the_folder_of_static_files(tmp_path):
    folder.write(tmp_path / "page")
    (tmp_path / "page" / "old.txt").write_text("old")
    folder.write(tmp_path / "page")
    files = {str(p.relative_to(tmp_path / "page")) for p in tmp_path.rglob("*") if p.is_file()}
    assert files >= {
        "index.html", "main.js", "worker.js", "explorer.css", "story.css", "icon.svg",
        "knowledge.json", "presets.json", "scenes/life.json", "engines/plan.wasm",
        "engines/implicit3.wasm",
    }  # fmt: skip
    assert "old.txt" not in files
    text = (tmp_path / "page" / "index.html").read_text(encoding="utf-8")
    for address in re.findall(r'(?:src|href)="([^"#]+)"', text):
        assert address in files  # relative
    assert policy(text)["connect-src"] == "'self'"
    assert policy(text)["script-src"] == "'self' 'wasm-unsafe-eval'"
    offered = json.loads((tmp_path / "page" / "presets.json").read_bytes())
    names = [preset["name"] for preset in offered]
    assert {"life", "fig1-1", "fig2", "full", "frozen"} <= set(names)
    assert len(names) < len(presets())


def test_the_folder_of_somebody_else_is_left_alone(tmp_path):
    thesis = tmp_path / "thesis.tex"
    thesis.write_text("years of work")
    with pytest.raises(InputError, match=r"a folder of its own, got .*; name a new one"):
        folder.write(tmp_path)
    assert thesis.read_text() == "years of work"


def test_a_live_page_may_begin_with_two_runs(run):
    assert "beside=beta:4" in run.show(view="beside=beta:4", live=True).text
    with pytest.raises(InputError, match="beside of a view must be forecast"):
        run.show(view="beside=beta:4")
