"""Pages that stand alone: modules made one script, nothing from outside, any saved run."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import shutil

import pytest
from support.commands import invoke

import parkade as pk
from parkade.base.errors import ParkadeError
from parkade.explorer import scene
from parkade.explorer.standalone import export
from parkade.explorer.standalone.export import PAGE, Page, page


@pytest.fixture(scope="module")
def made():
    data = scene({"n": 10, "d": 2, "T": 5})
    data["theory"]["seen"] = "</script><script>alert(1)</script><!--"
    return data, page(data)


def test_the_scene_is_inside(made):
    data, text = made
    (inside,) = re.findall(r'<script type="application/json" id="scene">(.*?)</script>', text)
    assert json.loads(inside) == data
    assert text.index('id="scene"') < text.index('<script type="module">')


def test_nothing_comes_from_outside(made):
    _, text = made
    shell = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", text, flags=re.DOTALL)
    assert not re.search(r"""(?:src|href)\s*=\s*(?!"(?:#|data:))""", shell)
    assert "/static/" not in shell
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy.startswith("default-src 'none'")
    assert "connect-src" not in policy
    assert "unsafe" not in policy
    # What the policy lets run is what is there.
    for kind, tag in [("script", r'<script type="module">'), ("style", "<style>")]:
        bodies = re.findall(rf"{tag}(.*?)</{kind}>", text, flags=re.DOTALL)
        digests = {base64.b64encode(hashlib.sha256(b.encode()).digest()).decode() for b in bodies}
        assert bodies
        assert digests == set(
            re.findall(r"sha256-([^']+)'", policy.split(f"{kind}-src")[1].split(";")[0])
        )


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("<title>", '<img src="https://x.example/y.png"><title>', "own files only, got src="),
        ("<title>", '<link rel="preload" href="/static/x"><title>', "own files only, got href="),
        ('<script type="module"', "<script", "one module script"),
        ('<meta charset="utf-8">', "", "got none; add it"),
    ],
)
def test_a_page_that_cannot_stand_alone(tmp_path, monkeypatch, old, new, sentence):
    shutil.copytree(PAGE, tmp_path / "page")
    index = tmp_path / "page" / "index.html"
    index.write_text(index.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    monkeypatch.setattr(export, "PAGE", tmp_path / "page")
    with pytest.raises(ParkadeError, match=sentence):
        export._template.__wrapped__()


def test_show_in_a_notebook():
    run = pk.simulate(pk.Attention(d=2), pk.sphere.uniform(5, 2, seed=1), 3.0)
    shown = run.show()
    assert isinstance(shown, Page)
    frame = shown._repr_html_()
    (inside,) = re.findall(r'<iframe srcdoc="([^"]*)" sandbox="([^"]*)"', frame)
    assert html.unescape(inside[0]) == shown.text
    assert inside[1] == "allow-scripts allow-downloads"
    assert len(repr(shown)) < 80


def test_a_small_page_with_a_view():
    run = pk.simulate(pk.Attention(d=2), pk.sphere.uniform(5, 2, seed=1), 3.0)
    usual, small = run.show(), run.show(view='#t=1&V="y"', embed=True)
    assert "<html data-embed " in small.text
    assert "<html data-embed " not in usual.text
    assert ' data-view="t=1&amp;V=&quot;y&quot;" id="scene">' in small.text
    heights = [
        int(re.findall(r'height="(\d+)"', p._repr_html_()[-200:])[0]) for p in (usual, small)
    ]
    assert heights[1] < heights[0]
    assert not re.search(r"(?:parent|top|opener)\.postMessage", small.text)


def test_the_tour_is_a_page(tmp_path):
    done = invoke("export", "--tour", "-q", "-o", str(tmp_path / "tour.html"))
    assert done.exit_code == 0
    text = (tmp_path / "tour.html").read_text(encoding="utf-8")
    assert re.findall(r'data-recorded="(\w+)"', text) == ["life", "values", "sharpness"]
    assert ' data-view="tour=1" id="scene">' in text
    for arguments in (["--tour", "run.npz"], []):
        done = invoke("export", *arguments)
        assert done.exit_code == 2
        assert "give a file" in done.stderr


def test_the_command(tmp_path):
    run = pk.simulate(
        pk.Attention(d=5), pk.sphere.uniform(5, 5, seed=1), 3.0, times=[0.0, 1.0, 3.0]
    )
    run.save(tmp_path / "run.npz")
    done = invoke("export", str(tmp_path / "run.npz"))
    assert done.exit_code == 0
    assert done.stdout.startswith(f"wrote    {tmp_path / 'run.html'} (")
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    data = json.loads(re.findall(r'id="scene">(.*?)</script>', text)[0])
    assert data["times"] == [0.0, 1.0, 3.0]
    assert data["settings"] is None
    assert len(data["axes"]["directions"]) == 3
    done = invoke("export", str(tmp_path / "run.npz"), "-q", "-o",
                                    str(tmp_path / "other.html"))  # fmt: skip
    assert done.stdout == ""
    assert (tmp_path / "other.html").read_text(encoding="utf-8") == text


def test_the_command_refuses(tmp_path):
    (tmp_path / "x.npz").write_bytes(b"no run")
    for arguments, sentence in [
        (["x.npz"], "is not a parkade trajectory"),
        (["y.npz"], "there is no file"),
        (["x.npz", "-o", str(tmp_path / "no" / "z.html")], "does not exist"),
    ]:
        done = invoke("export", str(tmp_path / arguments[0]), *arguments[1:])
        assert done.exit_code == 2
        assert sentence in done.stderr
