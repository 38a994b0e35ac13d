"""What the tests of the explorer share: a client, a server, and scenes taken apart."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest

from parkade.explorer.server import serve
from parkade.explorer.server.app import create_app
from parkade.explorer.server.run_queue import RunQueue
from parkade.explorer.settings.limits import Limits

RUN = "/api/run"

LONG = 120.0
"""Seconds after which something hangs."""

SMALL = {"n": 12, "d": 2, "beta": 16, "T": 20}
"""Settings that take a few milliseconds."""

ENDLESS = {"n": 1000, "d": 2, "V": "1,-1;1,1", "Q": "1,2;0,1", "T": 1e4}
"""Settings that take a minute: tokens that keep turning, in a way no moving frame removes.

Steps are slow, and fewer than those of a run that is refused because it would never end.
"""

ENDLESS_LINK = "n=1000&d=2&V=1,-1;1,1&Q=1,2;0,1&T=10000"
"""The link of the page to them."""

PATIENT = Limits(memory=1e12, token_steps=1e9)
"""Limits that allow endless runs."""

MODEL_ONLY = (
    "beta", "mask", "A", "V", "equation", "delta", "centers", "consumption", "theory",
    "forecast", "stats", "settings",
)  # fmt: skip
"""What a scene does not have without a model."""


def wait_for(coroutine):
    """The result of a coroutine, in a thread of its own: Playwright may have a loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


class Client:
    """Calls an application without a network, one request after another."""

    def __init__(self, limits: Limits | None = None, queue: RunQueue | None = None) -> None:
        self.queue = queue or RunQueue(threads=2)
        self.app = create_app(limits, self.queue)

    def request(self, method, path, *, headers=None, **more):
        async def call():
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(
                transport=transport, base_url="http://127.0.0.1:8765", timeout=60
            ) as client:
                return await client.request(method, path, headers=headers, **more)

        return wait_for(call())

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, path, data=None, **more):
        body = data if isinstance(data, bytes) else json.dumps(data).encode()
        headers = {"content-type": "application/json", **more.pop("headers", {})}
        return self.request("POST", path, content=body, headers=headers, **more)


@contextlib.contextmanager
def explore(**variables):
    """The command `parkade explore` as a process, and the origin of its page."""
    with started(variables) as process:
        try:
            yield process, origin_of(process)
        finally:
            process.kill()


def started(variables):
    """The process of a server that has just been started."""
    command = [sys.executable, "-m", "parkade", "explore", "--no-browser", "--port", "0"]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | variables,
    )


def origin_of(process):
    """The origin of the page of a server, which is waited for."""
    match = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
    assert match, process.stderr.read()
    return match[0]


_shared = []
"""Servers that this process has started for others as well, which may need them longer."""


@contextlib.contextmanager
def explore_together(folder):
    """The origin of one server for all processes that ask here: the last one to leave ends it."""
    import fcntl

    def count(more):
        with open(folder / "server", "a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            users, pid, origin = (file.read() or "0 0 none").split()
            users = int(users) + more
            if users and pid == "0":
                _shared.append(started({}))
                pid, origin = _shared[-1].pid, origin_of(_shared[-1])
            elif not users:
                os.kill(int(pid), signal.SIGKILL)
                pid = 0
            file.truncate(0)
            file.write(f"{users} {pid} {origin}")
        return origin

    try:
        yield count(+1)
    finally:
        count(-1)


@contextlib.contextmanager
def serving(app):
    """A server as the command has it in a thread of its own, and the port where it listens."""
    listener = serve._listen(0)
    opened = threading.Event()
    running = serve._Server(app, opened.set)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
    thread.start()
    opened.wait()
    try:
        yield running, listener.getsockname()[1]
    finally:
        running.should_exit = True
        thread.join()


def connected(port, text=""):
    """A connection to this machine that has sent a text."""
    client = socket.create_connection(("127.0.0.1", port), timeout=LONG)
    client.sendall(text.encode())
    return client


def port_of(address):
    """The port in an address."""
    return int(address.strip("/").rpartition(":")[2])


def received(client):
    """All that comes until the connection ends."""
    pieces = []
    try:
        while piece := client.recv(1 << 16):
            pieces.append(piece)
    except ConnectionResetError:
        pass
    return b"".join(pieces)


def post(path, length, *headers):
    """The head of a request with a body of JSON of some bytes."""
    usual = ["Host: 127.0.0.1", "Content-Type: application/json", f"Content-Length: {length}"]
    return "\r\n".join([f"POST {path} HTTP/1.1", *usual, *headers, "\r\n"])


def refused(response, status, sentence, field=None):
    """Check that a request was refused with this status and a sentence that contains this one."""
    assert response.status_code == status
    assert response.headers["content-type"] == "application/json"
    data = response.json()
    assert data["field"] == field
    assert sentence in data["error"]
    return True


def lines(response):
    """The messages of a stream."""
    return [json.loads(line) for line in response.text.splitlines()]


def unpacked(text, dtype, *shape):
    """The array of packed numbers."""
    return np.frombuffer(base64.b64decode(text), dtype).reshape(shape)


def frames(scene):
    """The tokens of a scene, (F, n, d)."""
    return unpacked(scene["frames"], "<f4", len(scene["times"]), scene["n"], scene["d"])


def labels(scene):
    """The labels of a scene, (F, n)."""
    return unpacked(scene["labels"], "<u2", len(scene["times"]), scene["n"])


def assert_close(result, expected, rtol, atol=1e-15, path=""):
    """Compare numbers up to tolerances, and all else exactly, in any JSON."""
    if isinstance(expected, dict):
        assert set(result) == set(expected), path
        for key, value in expected.items():
            assert_close(result[key], value, rtol, atol, f"{path}.{key}")
    elif isinstance(expected, list):
        assert len(result) == len(expected), path
        for i, value in enumerate(expected):
            assert_close(result[i], value, rtol, atol, f"{path}[{i}]")
    elif isinstance(expected, float):
        assert result == pytest.approx(expected, rel=rtol, abs=atol), path
    else:
        assert result == expected, path
