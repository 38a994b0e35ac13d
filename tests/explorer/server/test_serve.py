"""The explorer's server on a real port: clients that leave, many clients, and the command."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
from itertools import islice
from pathlib import Path

import httpx
import numpy as np
import pytest
from support.common import until
from support.explorer import (
    ENDLESS,
    LONG,
    PATIENT,
    SMALL,
    connected,
    explore,
    lines,
    port_of,
    post,
    received,
    serving,
    wait_for,
)

from parkade.explorer.server import serve
from parkade.explorer.server.app import create_app
from parkade.explorer.server.run_queue import RunQueue
from parkade.explorer.settings.settings import Settings

LOAD = int(os.environ.get("PARKADE_LOAD", "2"))
"""Requests of each client of the load test."""


@pytest.fixture
def server():
    """The address of a server on a free port, and its queue."""
    queue = RunQueue(threads=1, waiting=4)
    with serving(create_app(PATIENT, queue)) as (_, port):
        yield f"http://127.0.0.1:{port}", queue


def was_stopped(task):
    """Whether a task was cancelled, while it waited or while it ran."""
    return task.future.cancelled() or str(task.future.exception()) == "cancelled"


def test_leaving_frees_the_thread(server):
    url, queue = server
    with httpx.stream("POST", f"{url}/api/run", json=ENDLESS, timeout=LONG) as response:
        assert response.status_code == 200
        messages = map(json.loads, response.iter_lines())
        # On a busy machine it first says what it waits for.
        progress = list(islice((line["progress"] for line in messages if "progress" in line), 3))
        (task,) = queue._tasks
        assert progress[-1] < 0.9
    until(lambda: queue.count == 0)
    assert was_stopped(task)
    # The only thread is free again.
    messages = lines(httpx.post(f"{url}/api/run", json=SMALL, timeout=LONG))
    assert "scene" in messages[-1]


@pytest.mark.parametrize("path", ["/api/run", "/api/download/npz", "/api/download/html"])
def test_leaving_while_waiting_or_before_the_answer(server, path):
    url, queue = server
    body = json.dumps(ENDLESS)
    clients = [connected(port_of(url), f"{post(path, len(body))}{body}") for _ in range(3)]
    until(lambda: queue.count == 3)
    tasks = list(queue._tasks)
    for client in reversed(clients):
        client.close()
    until(lambda: queue.count == 0)
    assert all(was_stopped(task) for task in tasks)


def test_a_body_that_never_ends(server, monkeypatch):
    monkeypatch.setattr("parkade.explorer.server.app.BODY_SECONDS", 0.3)
    url, queue = server
    head = post("/api/run", 100, "Connection: close")
    with connected(port_of(url), f"{head}{{") as client:
        answer = received(client)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"did not arrive within 0.3 s" in answer
    monkeypatch.undo()
    chunked = head.replace("Content-Length: 100", "Transfer-Encoding: chunked")
    with connected(port_of(url), chunked) as client:
        with contextlib.suppress(ConnectionError):
            for _ in range(100):
                client.sendall(b"4000\r\n" + b" " * 0x4000 + b"\r\n")
        with contextlib.suppress(ConnectionError):
            assert client.recv(4096).startswith(b"HTTP/1.1 413 ")
    assert queue.count == 0


def test_the_command():
    with explore() as (run, address):
        assert "<title>" in httpx.get(address).text
        assert httpx.get(address, headers={"host": "evil.example"}).status_code == 421
        with pytest.raises(OSError, match="refused"):  # this machine only by its own name
            socket.create_connection((_other_address(), port_of(address)), timeout=LONG)
        with httpx.stream("POST", f"{address}/api/run", json=ENDLESS, timeout=LONG) as stream:
            next(stream.iter_lines())
            run.send_signal(signal.SIGINT)
            assert run.wait(LONG) == 130
        assert run.stderr.read() == "parkade: interrupted; the explorer is closed\n"


def _other_address():
    """An address of this machine that is not 127.0.0.1; the whole net 127 is its own."""
    return "127.0.0.2"


def test_ports(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ValueError, match=f"cannot listen at port {port}"):
            serve._listen(port)
        monkeypatch.setattr(serve, "PORT", port)
        with serve._listen(None) as other:
            assert other.getsockname()[0] == "127.0.0.1"
            assert other.getsockname()[1] != port
    with pytest.raises(ValueError, match="port must be from 0 to 65535, got 70000"):
        serve._listen(70000)


def resident(pid):
    """Bytes of memory a process has."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return 1024 * int(re.search(r"VmRSS:\s+(\d+)", status)[1])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_many_clients():
    """Fifty at once, some of whom leave early: all others are served, and memory stays."""
    with explore() as (run, address):
        wait_for(crowd(address, 1))
        before = resident(run.pid)
        errors = wait_for(crowd(address, LOAD))
        assert run.poll() is None
        assert not errors
        until(lambda: resident(run.pid) - before < 48 * 2**20)
        assert "scene" in lines(httpx.post(f"{address}/api/run", json=SMALL, timeout=LONG))[-1]


async def crowd(address, requests, size=50):
    """Let each client send some requests; return what went wrong."""
    errors = []

    async def one(seed):
        rng = np.random.default_rng(seed)
        for number in range(requests):
            asked = {**SMALL, "n": int(rng.integers(2, 40)), "seed": int(rng.integers(100))}
            Settings.read(asked)
            if (seed + number) % 4 == 0:  # leaves before the run has ended, or at once
                with contextlib.suppress(httpx.ReadTimeout):
                    wait = httpx.Timeout(LONG, read=rng.uniform(1e-3, 0.2))
                    async with client.stream("POST", url, json=asked, timeout=wait):
                        pass
                continue
            response = await client.post(url, json=asked)
            if response.status_code != 200 or "scene" not in lines(response)[-1]:
                errors.append(response.text[:200])

    # No connection stays open, which the server might close just when the next request comes.
    url, limits = f"{address}/api/run", httpx.Limits(max_keepalive_connections=0)
    async with httpx.AsyncClient(timeout=LONG, limits=limits) as client:
        await asyncio.gather(*(one(seed) for seed in range(size)))
    return errors
