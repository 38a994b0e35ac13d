"""Connections that ask for nothing, and more of them than there are files to open."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import sys
import threading
import time

import httpx
import pytest
from support.explorer import explore

from parkade.explorer import connections, serve
from parkade.explorer.app import create_app
from parkade.explorer.connections import Exhausted


@pytest.fixture
def server():
    """A server as the command has it, and the port where it listens."""
    listener = serve._listen(0)
    opened = threading.Event()
    running = serve._Server(create_app(), opened.set)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
    thread.start()
    opened.wait()
    yield running, listener.getsockname()[1]
    running.should_exit = True
    thread.join()


def until(true):
    """Wait until a function returns true."""
    while not true():
        time.sleep(0.01)


def open_ones(running):
    """The connections of a server."""
    return list(running.server_state.connections)


def received(client):
    """All that comes until the connection ends."""
    pieces = []
    try:
        while piece := client.recv(1 << 16):
            pieces.append(piece)
    except ConnectionResetError:
        pass
    return b"".join(pieces)


def test_half_a_request_does_not_stay(server, monkeypatch):
    """Nor does nothing, nor half a request after a whole one; what is under way is served."""
    monkeypatch.setattr(connections, "HEAD_SECONDS", 1e9)
    monkeypatch.setattr("parkade.explorer.app.BODY_SECONDS", 1e9)
    running, port = server
    body = "[]"
    head = (
        f"POST /api/run HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    whole = f"GET /api/schema HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"
    sent = [head, "", "GET / HT", f"{whole}GET / HT"]
    clients = [socket.create_connection(("127.0.0.1", port)) for _ in sent]
    for client, text in zip(clients, sent, strict=True):
        client.sendall(text.encode())
    until(lambda: len(open_ones(running)) == 4)
    until(lambda: sum(found.cycle is None for found in open_ones(running)) == 2)
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.0)
    answers = [received(client) for client in clients[1:]]
    assert answers[:2] == [b"", b""]
    assert answers[2].startswith(b"HTTP/1.1 200 OK")
    monkeypatch.setattr(connections, "HEAD_SECONDS", 1e9)
    clients[0].sendall(body.encode())
    assert received(clients[0]).startswith(b"HTTP/1.1 422 ")  # read to its end, and refused
    for client in clients:
        client.close()


def test_a_new_connection_takes_the_place_of_the_oldest_that_waits(server, monkeypatch):
    monkeypatch.setattr(connections, "most_connections", lambda: 3)
    running, port = server
    clients = []
    for _ in range(5):
        clients.append(socket.create_connection(("127.0.0.1", port)))
        mine = clients[-1].getsockname()
        until(lambda mine=mine: mine in {found.client for found in open_ones(running)})
    assert [received(client) for client in clients[:2]] == [b"", b""]
    left = {client.getsockname() for client in clients[2:]}
    until(lambda: {found.client for found in open_ones(running)} == left)
    assert httpx.get(f"http://127.0.0.1:{port}/api/schema", timeout=None).status_code == 200
    for client in clients:
        client.close()


@pytest.mark.skipif(sys.platform != "linux", reason="limits another process")
def test_few_files():
    """A server that can open few files answers all the same, and says one sentence at most."""
    import resource

    with explore() as (run, address):
        resource.prlimit(run.pid, resource.RLIMIT_NOFILE, (24, 24))
        place = ("127.0.0.1", int(address.rpartition(":")[2]))
        clients = [socket.create_connection(place) for _ in range(40)]
        assert "<title>" in httpx.get(address, timeout=None).text
        run.kill()
        told = run.stderr.read().splitlines()
        assert all(line.startswith("the explorer cannot accept connections") for line in told)
        assert len(told) < 3
        for client in clients:
            client.close()


def test_files_that_run_out_are_told_once(caplog, monkeypatch):
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
