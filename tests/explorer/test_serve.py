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
from support.explorer import ENDLESS, PATIENT, SMALL, explore, lines

from parkade.explorer import serve
from parkade.explorer.app import create_app
from parkade.explorer.run_queue import RunQueue
from parkade.explorer.settings import Settings

LOAD = float(os.environ.get("PARKADE_LOAD", "1.5"))
"""Seconds of the load test."""


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


def until(true, seconds=10.0):
    """Wait until a function returns true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.01)


def test_leaving_frees_the_thread(server):
    url, queue = server
    with httpx.stream("POST", f"{url}/api/run", json=ENDLESS, timeout=30) as response:
        assert response.status_code == 200
        told = map(json.loads, response.iter_lines())
        # On a busy machine it first says what it waits for.
        progress = list(islice((line["progress"] for line in told if "progress" in line), 3))
        assert queue.count == 1
        assert progress[-1] < 0.9
    left = time.monotonic()
    until(lambda: queue.count == 0)
    assert time.monotonic() - left < 2
    # The only thread is free again.
    found = lines(httpx.post(f"{url}/api/run", json=SMALL, timeout=30))
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
    for client in reversed(clients):
        client.close()
    until(lambda: queue.count == 0)


def test_a_body_that_never_ends(server, monkeypatch):
    monkeypatch.setattr("parkade.explorer.app.BODY_SECONDS", 0.3)
    url, queue = server
    host, port = url.removeprefix("http://").split(":")
    head = (
        f"POST /api/run HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
        "Connection: close\r\n"
    )
    with socket.create_connection((host, int(port)), timeout=10) as client:
        client.sendall(f"{head}Content-Length: 100\r\n\r\n{{".encode())
        answer = b""
        while piece := client.recv(4096):
            answer += piece
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"did not arrive within 0.3 s" in answer
    with socket.create_connection((host, int(port)), timeout=10) as client:
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
            socket.create_connection((_other_address(), port), timeout=5)
        with httpx.stream("POST", f"{address}/api/run", json=ENDLESS, timeout=60) as stream:
            next(stream.iter_lines())
            begun = time.monotonic()
            run.send_signal(signal.SIGINT)
            assert run.wait(20) == 130
            assert time.monotonic() - begun < 10
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
        served, left, errors = asyncio.run(crowd(address, 0.5))
        before = resident(run.pid)
        served, left, errors = asyncio.run(crowd(address, LOAD))
        after = resident(run.pid)
        print(
            f"{served} served, {left} left, memory {before / 2**20:.0f} → {after / 2**20:.0f} MiB"
        )
        assert run.poll() is None
        assert not errors
        assert served > 30
        assert left > 10
        assert after - before < 48 * 2**20
        # Nobody who left is still served.
        begun = time.monotonic()
        assert "scene" in lines(httpx.post(f"{address}/api/run", json=SMALL, timeout=30))[-1]
        assert time.monotonic() - begun < 5


async def crowd(address, seconds, size=50):
    """Let clients ask for this long; return how many were served, left, and what went wrong."""
    end = time.monotonic() + seconds
    served, left, errors = 0, 0, []

    async def one(seed):
        nonlocal served, left
        rng = np.random.default_rng(seed)
        while time.monotonic() < end:
            asked = {**SMALL, "n": int(rng.integers(2, 40)), "seed": int(rng.integers(100))}
            Settings.read(asked)
            impatient = rng.random() < 0.25
            request = client.post(f"{address}/api/run", json=asked)
            try:
                response = await asyncio.wait_for(request, rng.uniform(0, 0.2) if impatient else 60)
            except TimeoutError:
                left += 1
                if not impatient:
                    errors.append("nobody answered")
                continue
            served += 1
            if response.status_code != 200 or "scene" not in lines(response)[-1]:
                errors.append(response.text[:200])

    limits = httpx.Limits(max_connections=size)
    async with httpx.AsyncClient(timeout=60, limits=limits) as client:
        await asyncio.gather(*(one(seed) for seed in range(size)))
    return served, left, errors
