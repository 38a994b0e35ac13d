"""What the server computed lately is not computed again, and takes little memory."""

from __future__ import annotations

import json

import pytest
from support.explorer import RUN, SMALL, Client, lines

from parkade.explorer.scenes import compute
from parkade.explorer.server.recent import Recent


@pytest.fixture
def asked():
    """Keys that were computed."""
    return []


def ask(recent, asked, key, size):
    def compute():
        asked.append(key)
        return key.encode() * size

    assert recent.get(key, compute) == key.encode() * size


def test_a_result_is_computed_once(asked):
    recent = Recent()
    for key in "aba":
        ask(recent, asked, key, 3)
    assert asked == ["a", "b"]


def test_those_asked_for_longest_ago_go_first(asked):
    recent = Recent(capacity=10)
    for key in "abac":  # twelve bytes: b goes
        ask(recent, asked, key, 4)
    assert asked == ["a", "b", "c"]
    ask(recent, asked, "a", 4)
    ask(recent, asked, "b", 4)
    assert asked == ["a", "b", "c", "b"]


def test_what_is_too_large_is_not_stored(asked):
    """And what was there stays there."""
    recent = Recent(capacity=10)
    for key, size in [("a", 10), ("b", 11), ("b", 11), ("a", 10)]:
        ask(recent, asked, key, size)
    assert asked == ["a", "b", "b"]


def test_a_failure_is_not_stored():
    def fail():
        raise ZeroDivisionError

    recent = Recent()
    with pytest.raises(ZeroDivisionError):
        recent.get("a", fail)
    assert recent.get("a", lambda: b"there") == b"there"


def test_the_server_computes_a_run_once(monkeypatch):
    """Its scene is the same; another run, or another question on it, is another matter."""
    runs, compute_run = [], compute.compute_run

    def counted(settings, *more):
        runs.append(settings.seed)
        return compute_run(settings, *more)

    monkeypatch.setattr(compute, "compute_run", counted)
    client = Client()
    try:
        first, again = (lines(client.post(RUN, SMALL))[-1] for _ in range(2))
        assert again == first
        assert runs == [1]
        other = lines(client.post(RUN, SMALL | {"seed": 2}))[-1]["scene"]
        assert other["settings"]["seed"] == 2
        assert runs == [1, 2]
        stairs = lines(client.post("/api/stairs", SMALL))[-1]["scene"]
        assert json.dumps(stairs) != json.dumps(first["scene"])
    finally:
        client.queue.close()
