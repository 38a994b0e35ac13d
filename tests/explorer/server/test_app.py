"""The application of the explorer, called without a network."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from support.explorer import ENDLESS, RUN, SMALL, Client, lines, refused

import parkade as pk
from parkade.explorer import Limits, Settings, scene
from parkade.explorer.settings.equation import equation
from parkade.explorer.settings.presets import presets
from parkade.explorer.settings.schema import schema


def test_the_page_and_its_files(client):
    page = client.get("/")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    assert "<title>" in page.text
    script = client.get("/static/main.js")
    assert script.status_code == 200
    assert "javascript" in script.headers["content-type"]
    icon = client.get("/favicon.ico")
    assert icon.status_code == 200
    assert icon.headers["content-type"] == "image/svg+xml"


@pytest.mark.parametrize("path", ["/", "/static/main.js", "/api/presets", "/api/recorded/life"])
def test_a_browser_that_has_a_file_gets_not_modified(client, path):
    """It asks each time, and gets the file again only if that is another one."""
    first = client.get(path)
    tag = first.headers["etag"]
    assert first.headers["cache-control"] == "no-cache"
    for known in (tag, f'"other", {tag}', f"W/{tag}"):
        again = client.get(path, headers={"if-none-match": known})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    other = client.get(path, headers={"if-none-match": '"other"'})
    assert (other.status_code, other.content) == (200, first.content)
    assert client.get("/api/schema").headers["etag"] != tag


def test_schema(client):
    answer = client.get("/api/schema").json()
    assert answer["fields"] == json.loads(json.dumps(schema(Settings)))
    assert answer["equation"] == equation(Settings().model)


def test_presets(client):
    answer = client.get("/api/presets").json()
    assert answer == [json.loads(json.dumps(p.to_dict())) for p in presets()]
    assert {"name", "title", "about", "settings"} == set(answer[0])


def test_a_run_is_the_scene_of_the_library(client):
    response = client.post(RUN, SMALL)
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/x-ndjson"
    *before, last = lines(response)
    assert all(set(line) <= {"progress", "note"} for line in before)
    expected = json.loads(json.dumps(scene(SMALL)))
    for one in (last["scene"], expected):
        del one["stats"]["seconds"]
    assert last["scene"] == expected


@pytest.mark.parametrize(
    ("body", "status", "sentence", "field"),
    [
        (b"", 400, "one JSON object, got none", None),
        (b"{", 400, "one JSON object, got none", None),
        (b"\xff\xfe", 400, "one JSON object, got none", None),
        (b"[" * 100000, 400, "one JSON object, got none", None),
        (b'{"n": ' + b"9" * 5000 + b"}", 400, "one JSON object, got none", None),
        (b'{"beta": NaN}', 422, "finite numbers, got NaN", None),
        (b'{"beta": -Infinity}', 422, "finite numbers, got -Infinity", None),
        (b'{"beta": 1e999}', 422, "beta must be a number from 0 to 1e+06, got inf", "beta"),
        (b"[]", 422, "must be one JSON object, got []", None),
        (b'{"\\ud800": 1}', 422, "there is no setting '\\ud800'", "\ud800"),
        (b'{"mask": "\\ud800<script>"}', 422, "must be one of", "mask"),
        (b'{"__class__": 1}', 422, "there is no setting '__class__'", "__class__"),
        (b'{"V": "/etc/passwd.csv"}', 422, "V must be a number", "V"),
        (b'{"V": "__import__(\'os\')"}', 422, "V must be a number", "V"),
        (b" " * (2**18 + 1), 413, "at most 262144 bytes", None),
    ],
)
@pytest.mark.parametrize("path", [RUN, "/api/download/npz", "/api/download/html"])
def test_wrong_bodies(client, path, body, status, sentence, field):
    assert refused(client.post(path, body), status, sentence, field)


@pytest.mark.parametrize("kind", ["text/plain", "", "application/x-www-form-urlencoded"])
def test_forms_of_other_sites_are_no_settings(client, kind):
    response = client.post(RUN, SMALL, headers={"content-type": kind})
    assert refused(response, 415, "send settings as application/json")


def test_what_is_not_there(client):
    assert refused(client.get("/x\u2028y<b>"), 404, "there is nothing at /x")
    assert refused(client.get("/static/../app.py"), 404, "there is nothing")
    assert refused(client.get("/static/%2e%2e/app.py"), 404, "there is nothing")
    assert refused(client.get("/static/"), 404, "there is nothing")
    assert refused(client.get(RUN), 405, "GET is not allowed at /api/run; use POST")
    assert refused(client.post("/", {}), 405, "POST is not allowed at /; use GET, HEAD")


def test_endless_work_is_refused_before_it_begins(client):
    asked = {"n": 300, "mask": "full", "T": 1e60}
    assert refused(client.post(RUN, asked), 422, "choose T up to", "T")


def test_work_that_takes_too_long_ends_with_a_sentence(client):
    answer = lines(Client(Limits(seconds=0.3, memory=1e12, token_steps=1e9)).post(RUN, ENDLESS))
    assert "stopped after 0.3 s, at t=" in answer[-1]["error"]
    assert any("progress" in line for line in answer)
    response = Client(Limits(token_steps=3000)).post(
        "/api/download/npz", {**SMALL, "n": 200, "beta": 64}
    )
    assert refused(response, 422, "stopped at 3000 steps of single tokens")


def test_the_run_as_a_file(client, tmp_path):
    response = client.post("/api/download/npz", {**SMALL, "frozen": "strong"})
    assert response.status_code == 200
    assert response.headers["content-disposition"] == 'attachment; filename="parkade.npz"'
    (tmp_path / "run.npz").write_bytes(response.content)
    run = pk.load(tmp_path / "run.npz")
    chosen = Settings.read({**SMALL, "frozen": "strong"})
    free = np.delete(chosen.start, chosen.held, axis=0)
    again = pk.simulate(chosen.model, free, 20, frozen=chosen.start[chosen.held])
    assert np.array_equal(run.tokens, again.tokens)
    assert np.array_equal(run.frozen, again.frozen)
    assert np.load(io.BytesIO(response.content), allow_pickle=False)["times"][-1] == 20


def test_the_page_as_a_file(client):
    response = client.post("/api/download/html", SMALL)
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert response.headers["content-disposition"] == 'attachment; filename="parkade.html"'
    inside = response.text.split('<script type="application/json" id="scene">')[1]
    assert json.loads(inside.split("</script>")[0])["settings"] == Settings.read(SMALL).to_dict()


def test_a_bug_is_a_500_with_a_sentence(monkeypatch):
    monkeypatch.setattr("parkade.explorer.scenes.compute.compute_scene", lambda *_: {}[1])
    assert refused(Client().post(RUN, SMALL), 500, "this is a bug in parkade (KeyError: 1)")
    monkeypatch.setattr("parkade.explorer.server.app._presets_text", lambda: {}[1])
    assert refused(Client().get("/api/presets"), 500, "this is a bug in parkade (KeyError)")


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-5, 40)
    | st.integers()
    | st.floats()
    | st.sampled_from([1e-320, 1e308, -0.0, 10**400, 2**53, 1e60, 64, 9.0])
    | st.text(max_size=10)
    | st.sampled_from(["I", "random:1", "-1", "1,1", "1,1,-1", "0,-1;1,0", "full", "strong",
                       "renyi", "1e300", "nan", "'; DROP TABLE", "../../etc/passwd", "\ud800",
                       "<script>", "1;" * 500, "random:1e3", "١,٢"])
)  # fmt: skip
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=2), max_leaves=3)
KEYS = st.sampled_from([*Settings().to_dict(), "x", "", "__proto__"])


@given(st.dictionaries(KEYS, VALUES, max_size=4) | VALUES | st.binary(max_size=40))
@hypothesis_settings(max_examples=150)
def test_whatever_comes_gets_an_answer(client, data):
    """Never a 500, never a hang: a scene, or a sentence."""
    body = data if isinstance(data, bytes) else json.dumps(data).encode()
    response = client.post(RUN, body)
    if response.status_code == 200:
        last = lines(response)[-1]
        assert "scene" in last or len(last["error"]) > 10
    else:
        assert response.status_code in (400, 422)
        answer = response.json()
        assert 10 < len(answer["error"]) < 400
        assert set(answer) - {"others"} == {"error", "field"}
