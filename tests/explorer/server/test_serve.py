"""The explorer's server on a real port: clients that leave, many clients, and the command."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
import threading
import time
from itertools import islice
from pathlib import Path

import httpx
import numpy as np
import pytest
import uvicorn
from support.explorer import ENDLESS, PATIENT, SMALL, explore, lines, wait_for

from parkade.explorer.server import serve
from parkade.explorer.server.app import create_app
from parkade.explorer.server.run_queue import RunQueue
from parkade.explorer.settings.settings import Settings

LOAD = int(os.environ.get("PARKADE_LOAD", "2"))
"""Requests of each client of the load test."""

LONG = 120.0  # seconds: by then something hangs


@pytest.fixture
def server():
    """A server on a free port, and its queue."""
    queue = RunQueue(threads=1, waiting=4)
    config = uvicorn.Config(create_app(PATIENT, queue), log_level="error", ws="none")
    running = uvicorn.Server(config)
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}", queue
    running.should_exit = True
    thread.join()
    listener.close()


def until(true, seconds=LONG):
    """Wait until a function returns true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.01)


def was_stopped(task):
    """Whether a task was cancelled, while it waited or while it ran."""
    return task.future.cancelled() or str(task.future.exception()) == "cancelled"


def test_leaving_frees_the_thread(server):
    url, queue = server
    with httpx.stream("POST", f"{url}/api/run", json=ENDLESS, timeout=LONG) as response:
        assert response.status_code == 200
        told = map(json.loads, response.iter_lines())
        # On a busy machine it first says what it waits for.
        progress = list(islice((line["progress"] for line in told if "progress" in line), 3))
        (task,) = queue._tasks
        assert progress[-1] < 0.9
    until(lambda: queue.count == 0)
    assert was_stopped(task)
    # The only thread is free again.
    found = lines(httpx.post(f"{url}/api/run", json=SMALL, timeout=LONG))
    assert "scene" in found[-1]


@pytest.mark.parametrize("path", ["/api/run", "/api/download/npz", "/api/download/html"])
def test_leaving_while_waiting_or_before_the_answer(server, path):
    url, queue = server
    host, port = url.removeprefix("http://").split(":")
    body = json.dumps(ENDLESS)
    request = (
        f"POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}"
    )
    clients = [socket.create_connection((host, int(port))) for _ in range(3)]
    for client in clients:
        client.sendall(request.encode())
    until(lambda: queue.count == 3)
    tasks = list(queue._tasks)
    for client in reversed(clients):
        client.close()
    until(lambda: queue.count == 0)
    assert all(was_stopped(task) for task in tasks)


def test_a_body_that_never_ends(server, monkeypatch):
    monkeypatch.setattr("parkade.explorer.server.app.BODY_SECONDS", 0.3)
    url, queue = server
    host, port = url.removeprefix("http://").split(":")
    head = (
        f"POST /api/run HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
        "Connection: close\r\n"
    )
    with socket.create_connection((host, int(port)), timeout=LONG) as client:
        client.sendall(f"{head}Content-Length: 100\r\n\r\n{{".encode())
        answer = b""
        while piece := client.recv(4096):
            answer += piece
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"did not arrive within 0.3 s" in answer
    monkeypatch.undo()
    with socket.create_connection((host, int(port)), timeout=LONG) as client:
        client.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
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
        port = int(address.rpartition(":")[2])
        with pytest.raises(OSError, match="refused"):  # this machine only by its own name
            socket.create_connection((_other_address(), port), timeout=LONG)
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
    """Let each client send so many requests; return what went wrong."""
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

    # No connection is kept, which the server might close just when the next request comes.
    url, limits = f"{address}/api/run", httpx.Limits(max_keepalive_connections=0)
    async with httpx.AsyncClient(timeout=LONG, limits=limits) as client:
        await asyncio.gather(*(one(seed) for seed in range(size)))
    return errors
