"""The application of the explorer, called without a network."""

from __future__ import annotations

import asyncio
import io
import json
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from support.explorer import ENDLESS, PATIENT, SMALL, Client, lines

import parkade as pk
from parkade.base.progress import say_if_slow
from parkade.explorer import Limits, Settings, scene, tasks
from parkade.explorer.access import HEADERS
from parkade.explorer.presets import presets

RUN = "/api/run"


@pytest.fixture(scope="module")
def client():
    made = Client(Limits(seconds=2.0))
    yield made
    made.desk.close()


def refused(response, status, sentence, field=None):
    """Check that a request was refused so."""
    assert response.status_code == status
    assert response.headers["content-type"] == "application/json"
    told = response.json()
    assert told["field"] == field
    assert sentence in told["error"]
    return True


def test_the_page_and_its_files(client):
    page = client.get("/")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    assert "<title>" in page.text
    script = client.get("/static/main.js")
    assert script.status_code == 200
    assert "javascript" in script.headers["content-type"]


def test_presets(client):
    found = client.get("/api/presets").json()
    assert found == [json.loads(json.dumps(p.to_dict())) for p in presets()]
    assert {"name", "title", "about", "settings"} == set(found[0])


@pytest.mark.parametrize("path", ["/", "/static/main.js", "/api/presets", "/nowhere", RUN])
def test_every_answer_is_guarded(client, path):
    found = client.get(path).headers
    assert {name: found[name] for name in HEADERS} == HEADERS
    policy = found["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    assert "http" not in policy


def test_a_run_is_the_scene_of_the_library(client):
    response = client.post(RUN, SMALL)
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/x-ndjson"
    *before, last = lines(response)
    assert all(set(line) <= {"progress", "note"} for line in before)
    expected = json.loads(json.dumps(scene(SMALL)))
    for found in (last["scene"], expected):
        del found["stats"]["seconds"]
    assert last["scene"] == expected


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8765", "localhost:1", "localhost", "LOCALHOST:80", "[::1]:8765"]
)
def test_own_names(client, host):
    assert client.get("/api/presets", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "localhost.evil:80",
             "evil@localhost", "127.0.0.2", "0.0.0.0:8765", "localhost:80:80", "", "localhost:x"]
)  # fmt: skip
def test_foreign_names(client, host):
    assert refused(client.get("/", headers={"host": host}), 421, "this server answers to")
    assert refused(client.post(RUN, SMALL, headers={"host": host}), 421, "answers to 127.0.0.1")


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:8765", "http://127.0.0.1:9999",
               "http://localhost:8765", ""]
)  # fmt: skip
def test_foreign_origins(client, origin):
    headers = {"origin": origin}
    assert refused(client.post(RUN, SMALL, headers=headers), 403, "from other sites are refused")
    assert refused(client.get("/api/presets", headers=headers), 403, "other sites")


def test_own_origin(client):
    headers = {"origin": "http://127.0.0.1:8765", "sec-fetch-site": "same-origin"}
    assert client.post(RUN, SMALL, headers=headers).status_code == 200


def test_a_link_from_elsewhere_opens_the_page_only(client):
    headers = {"sec-fetch-site": "cross-site"}
    assert client.get("/?n=20", headers=headers).status_code == 200
    assert refused(client.get("/api/presets", headers=headers), 403, "open the page itself")
    assert refused(client.post(RUN, SMALL, headers=headers), 403, "open the page itself")


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
    assert refused(client.get(RUN), 405, "not to be asked so")
    assert refused(client.post("/", {}), 405, "not to be asked so")


def test_endless_work_is_refused_at_once(client):
    begun = time.monotonic()
    asked = {"n": 300, "mask": "full", "T": 1e60}
    assert refused(client.post(RUN, asked), 422, "choose T up to", "T")
    assert time.monotonic() - begun < 1


def test_work_that_takes_too_long_ends_with_a_sentence(client):
    found = lines(Client(Limits(seconds=0.3, memory=1e12, work=1e9)).post(RUN, ENDLESS))
    assert "stopped after 0.3 s, at t=" in found[-1]["error"]
    assert any("progress" in line for line in found)
    response = Client(Limits(work=3000)).post("/api/download/npz", {**SMALL, "n": 200, "beta": 64})
    assert refused(response, 422, "stopped at 3000 steps of single tokens")


def test_the_run_as_a_file(client, tmp_path):
    response = client.post("/api/download/npz", {**SMALL, "frozen": "strong"})
    assert response.status_code == 200
    assert response.headers["content-disposition"] == 'attachment; filename="parkade.base.npz"'
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


def test_too_many_runs_are_refused():
    counter = tasks.Desk(places=1, chairs=1)
    busy = Client(PATIENT, counter)
    stop = threading.Event()
    taken = [counter.take(lambda report, cancelled: stop.wait(20)) for _ in range(2)]
    try:
        response = busy.post(RUN, SMALL)
        assert refused(response, 429, "2 runs are under way or waiting; try again in a moment")
        assert response.headers["retry-after"] == "1"
    finally:
        stop.set()
    for task in taken:
        task.future.result()
    assert busy.post(RUN, SMALL).status_code == 200


def test_who_waits_is_told_so():
    counter = tasks.Desk(places=1, chairs=1)
    stop = threading.Event()
    counter.take(lambda report, cancelled: stop.wait(20))
    threading.Timer(0.5, stop.set).start()
    found = lines(Client(PATIENT, counter).post(RUN, SMALL))
    assert {"note": "waiting for other runs to end"} in found
    assert "scene" in found[-1]


def events(call, monkeypatch, beat=0.2):
    """What is told of a call."""
    monkeypatch.setattr(tasks, "BEAT", beat)

    async def listen():
        task = tasks.Desk(places=1).take(call)
        return [event async for event in task.events(asyncio.Event().wait())]

    return asyncio.run(listen())


def test_silence_is_explained_and_broken(monkeypatch):
    def compiling(report, cancelled):
        with say_if_slow("compiling the engine", 0.1):
            time.sleep(1)
        return "done"

    found = events(compiling, monkeypatch)
    assert tasks.Note("compiling the engine") in found
    assert found.count(tasks.Progress(0.0)) >= 3
    assert found[-1] == tasks.Done("done")


def test_bugs_and_lack_of_memory_are_told(monkeypatch, caplog):
    def bug(report, cancelled):
        raise KeyError("x")

    (failed,) = events(bug, monkeypatch)
    assert str(failed.error) == "this is a bug in parkade (KeyError: 'x'); please report it"
    assert "a run failed" in caplog.text

    def hungry(report, cancelled):
        raise MemoryError

    (failed,) = events(hungry, monkeypatch)
    assert "not enough memory" in str(failed.error)


def test_a_bug_is_a_500_with_a_sentence(monkeypatch):
    monkeypatch.setattr("parkade.explorer.run.Work.scene", lambda *_: {}[1])
    assert refused(Client().post(RUN, SMALL), 500, "this is a bug in parkade (KeyError: 1)")
    monkeypatch.setattr("parkade.explorer.app.presets", lambda: {}[1])
    assert refused(Client().get("/api/presets"), 500, "this is a bug in parkade (KeyError)")


def test_a_closed_desk_cancels_its_runs():
    counter = tasks.Desk(places=1)
    begun = threading.Event()

    def call(report, cancelled):
        begun.set()
        while not cancelled():
            time.sleep(0.01)
        return "cancelled"

    first, second = counter.take(call), counter.take(call)
    assert begun.wait(5)
    counter.close()
    assert first.future.result(timeout=5) == "cancelled"
    assert second.future.cancelled()


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
        told = response.json()
        assert 10 < len(told["error"]) < 400
        assert set(told) == {"error", "field"}


@given(st.dictionaries(
    st.sampled_from(["host", "origin", "content-type", "content-length", "sec-fetch-site", "x"]),
    st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20),
))  # fmt: skip
@hypothesis_settings(max_examples=60)
def test_whatever_the_headers_say(client, headers):
    response = client.post(RUN, {"n": 0}, headers=headers)
    assert 400 <= response.status_code < 500
    assert response.json()["error"]
