"""Runs that wait, report, fail and are cancelled."""

from __future__ import annotations

import asyncio
import threading
import time

from support.explorer import PATIENT, RUN, SMALL, Client, lines, refused, wait_for

from parkade.base.progress import compiling, say_compiling
from parkade.explorer.server import run_queue
from parkade.explorer.server.run_queue import RunQueue

LONG = 120  # seconds: by then something hangs


def test_too_many_runs_are_refused():
    queue = RunQueue(threads=1, waiting=1)
    busy = Client(PATIENT, queue)
    stop = threading.Event()
    taken = [queue.submit(lambda report, cancelled: stop.wait()) for _ in range(2)]
    try:
        response = busy.post(RUN, SMALL)
        assert refused(response, 429, "2 runs are under way or waiting; try again in a moment")
        assert response.headers["retry-after"] == "1"
    finally:
        stop.set()
    for task in taken:
        task.future.result()
    assert busy.post(RUN, SMALL).status_code == 200


def test_a_client_that_waits_gets_a_note(monkeypatch):
    queue = RunQueue(threads=1, waiting=1)
    stop = threading.Event()
    queue.submit(lambda report, cancelled: stop.wait(LONG))
    real = run_queue.Task.events

    async def watched(task, left):
        async for event in real(task, left):
            if isinstance(event, run_queue.Note):
                stop.set()
            yield event

    monkeypatch.setattr(run_queue.Task, "events", watched)
    messages = lines(Client(PATIENT, queue).post(RUN, SMALL))
    assert {"note": "waiting for other runs to end"} in messages
    assert "scene" in messages[-1]


def events(call, monkeypatch, hear=lambda event: None):
    """What is told of a call; `hear` is called with each event."""
    monkeypatch.setattr(run_queue, "BEAT", 0.2)

    async def listen():
        heard = []
        async for event in RunQueue(threads=1).submit(call).events(asyncio.Event().wait()):
            heard.append(event)
            hear(event)
        return heard

    return wait_for(listen())


def test_silence_is_explained_and_broken(monkeypatch):
    beats = threading.Semaphore(0)

    def slow(report, cancelled):
        with compiling("the engine"):
            say_compiling()
            heard = [beats.acquire(timeout=LONG) for _ in range(3)]
            say_compiling()
        return all(heard)

    def hear(event):
        if event == run_queue.Progress(0.0):
            beats.release()

    heard = events(slow, monkeypatch, hear)
    assert heard.count(run_queue.Note("compiling the engine, once")) == 1
    assert heard[-1] == run_queue.Done(True)


def test_bugs_and_lack_of_memory_have_sentences(monkeypatch, caplog):
    def bug(report, cancelled):
        raise KeyError("x")

    (failed,) = events(bug, monkeypatch)
    assert str(failed.error) == "this is a bug in parkade (KeyError: 'x'); please report it"
    assert "a run failed" in caplog.text

    def hungry(report, cancelled):
        raise MemoryError

    (failed,) = events(hungry, monkeypatch)
    assert "not enough memory" in str(failed.error)


def test_a_closed_queue_cancels_its_runs():
    queue = RunQueue(threads=1)
    begun = threading.Event()

    def call(report, cancelled):
        begun.set()
        while not cancelled():
            time.sleep(0.01)
        return "cancelled"

    first, second = queue.submit(call), queue.submit(call)
    assert begun.wait(LONG)
    queue.close()
    assert first.future.result(timeout=LONG) == "cancelled"
    assert second.future.cancelled()
