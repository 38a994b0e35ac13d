"""Connections that ask for nothing or read nothing, and more than there are files to open."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import socket
import sys
import threading
import time
import weakref

import httpx
import pytest
from support.common import until
from support.explorer import connected, explore, port_of, post, received, serving

from parkade.base.progress import tell
from parkade.explorer.server import app, connections, recent
from parkade.explorer.server.app import create_app
from parkade.explorer.server.connections import Exhausted
from parkade.explorer.server.run_queue import RunQueue

LARGE = recent.CAPACITY + 1
"""Bytes of an answer that the server does not keep, and that no system takes unread."""


@pytest.fixture
def server():
    """A server, and its port."""
    with serving(create_app()) as running:
        yield running


def open_ones(running):
    """The connections of a server."""
    return list(running.server_state.connections)


def test_a_connection_with_half_a_request_is_closed(server, monkeypatch):
    """Nor does nothing, nor half a request after a whole one; what is under way is served."""
    monkeypatch.setattr(connections, "HEAD_SECONDS", 1e9)
    monkeypatch.setattr("parkade.explorer.server.app.BODY_SECONDS", 1e9)
    running, port = server
    head = post("/api/run", 2, "Connection: close")
    whole = "GET /api/schema HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    clients = [connected(port, text) for text in (head, "", "GET / HT", f"{whole}GET / HT")]
    until(lambda: len(open_ones(running)) == 4)
    until(lambda: sum(connection.cycle is None for connection in open_ones(running)) == 2)
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.0)
    answers = [received(client) for client in clients[1:]]
    assert answers[:2] == [b"", b""]
    assert answers[2].startswith(b"HTTP/1.1 200 OK")
    monkeypatch.setattr(connections, "HEAD_SECONDS", 1e9)
    clients[0].sendall(b"[]")
    assert received(clients[0]).startswith(b"HTTP/1.1 422 ")  # read to its end, and refused
    for client in clients:
        client.close()


def test_a_new_connection_takes_the_place_of_the_oldest_that_waits(server, monkeypatch):
    monkeypatch.setattr(connections, "most_connections", lambda: 3)
    running, port = server
    clients = []
    for _ in range(5):
        clients.append(connected(port))
        mine = clients[-1].getsockname()
        until(lambda mine=mine: mine in {connection.client for connection in open_ones(running)})
    assert [received(client) for client in clients[:2]] == [b"", b""]
    left = {client.getsockname() for client in clients[2:]}
    until(lambda: {connection.client for connection in open_ones(running)} == left)
    assert httpx.get(f"http://127.0.0.1:{port}/api/schema", timeout=None).status_code == 200
    for client in clients:
        client.close()


def large_result(content):
    return lambda *_: content


def many_notes(_):
    """A run that says more than any system takes unread, then waits for the client to leave."""

    def run(job):
        for _ in range(100):
            tell.get()("x" * 2**18)
        while not job.cancelled():
            time.sleep(0.01)
        return b""

    return run


def asked(port, path):
    """A client that has asked for something and read the first byte of the answer."""
    head = post(path, 2)
    client = connected(port, f"{head.replace('POST', 'GET') if 'presets' in path else head}{{}}")
    assert client.recv(1) == b"H"
    return client


@pytest.mark.parametrize(
    ("name", "answer", "path"),
    [
        ("_presets_text", large_result, "/api/presets"),  # complete as far as uvicorn knows
        ("_npz", large_result, "/api/download/npz"),
        ("_scene", large_result, "/api/run"),
        ("_scene", many_notes, "/api/run"),
    ],
)
def test_a_client_that_stops_reading_is_closed(monkeypatch, name, answer, path):
    monkeypatch.setattr(connections, "UNREAD_SECONDS", 1e9)
    content = bytes(LARGE)
    monkeypatch.setattr(app, name, answer(content))
    queue, references = RunQueue(threads=1), sys.getrefcount(content)
    with serving(create_app(queue=queue)) as (running, port):
        client = asked(port, path)
        left = weakref.ref(open_ones(running)[0])
        until(lambda: left().stuck > 0)
        if path == "/api/presets":
            monkeypatch.setattr(connections, "HEAD_SECONDS", 0.0)
            until(lambda: left().transport.is_closing())  # once all is read
        else:
            assert len(running.server_state.tasks) == 1
        monkeypatch.setattr(connections, "UNREAD_SECONDS", 0.0)
        until(lambda: not open_ones(running))
        until(lambda: not running.server_state.tasks and queue.count == 0)
        until(lambda: gc.collect() >= 0 and left() is None)
        until(lambda: sys.getrefcount(content) == references)
        assert len(received(client)) < LARGE  # and it ends
        client.close()


def test_a_client_that_reads_slowly_is_served(monkeypatch):
    """Whatever it reads, and a machine that was paused, begins the time anew."""
    most = 1e9
    monkeypatch.setattr(connections, "UNREAD_SECONDS", most)
    monkeypatch.setattr(app, "_npz", large_result(bytes(LARGE)))
    with serving(create_app()) as (running, port):
        client = asked(port, "/api/download/npz")
        (connection,) = open_ones(running)
        option = connection.transport.get_extra_info("socket").getsockopt
        assert option(socket.SOL_SOCKET, socket.SO_SNDBUF) <= 2 * connections.SEND_BUFFER

        def let_pass(seconds):
            done = threading.Event()
            connection.loop.call_soon_threadsafe(lambda: (connection.watch(seconds), done.set()))
            done.wait()

        read = 1
        for _ in range(3):
            until(lambda: connection.stuck > 0)
            let_pass(0.6 * most)
            assert connection.stuck >= 0.6 * most
            assert open_ones(running) == [connection]
            before = connection.sent
            while connection.sent == before:
                read += len(client.recv(2**14))
            until(lambda: connection.stuck < 0.6 * most)
        until(lambda: connection.stuck > 0)
        running._looked = -1e12
        until(lambda: running._looked > 0)
        assert open_ones(running) == [connection]
        while read < LARGE:
            piece = client.recv(2**16)
            assert piece
            read += len(piece)
        until(lambda: connection.waits)
        client.close()


@pytest.mark.skipif(sys.platform != "linux", reason="limits another process")
def test_few_files():
    """A server that can open few files answers all the same, and says one sentence at most."""
    import resource

    with explore() as (run, address):
        resource.prlimit(run.pid, resource.RLIMIT_NOFILE, (24, 24))
        clients = [connected(port_of(address)) for _ in range(40)]
        assert "<title>" in httpx.get(address, timeout=None).text
        run.kill()
        messages = run.stderr.read().splitlines()
        assert all(line.startswith("the explorer cannot accept connections") for line in messages)
        assert len(messages) < 3
        for client in clients:
            client.close()


def test_files_that_run_out_are_logged_once(caplog, monkeypatch):
    loop = asyncio.new_event_loop()
    others = []
    monkeypatch.setattr(loop, "default_exception_handler", others.append)
    loop.set_exception_handler(Exhausted([]))
    for _ in range(1000):
        loop.call_exception_handler({"exception": OSError(errno.EMFILE, "Too many open files")})
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "(Too many open files)" in caplog.text
    other = {"message": "another one", "exception": OSError(errno.EPIPE, "Broken pipe")}
    loop.call_exception_handler(other)
    assert others == [other]
    loop.close()
