"""Connections of the explorer's server: those that ask for nothing, or read nothing, end."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import struct
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, cast

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0
"""Seconds within which the head of a request must have arrived."""

UNREAD_SECONDS = 60.0
"""Seconds after which a connection ends if nothing of an answer could be sent."""

SEND_BUFFER = 2**17
"""Bytes that the system buffers for a client; it may take twice this number.

It takes more only after the client has read about this number: with 4 MB, a slow client would seem
idle.
"""

MOST = 256
"""Most connections at once, where this process may open many files."""

SILENCE = 60.0
"""Seconds between two sentences about connections that could not be accepted."""

_EXHAUSTED = errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM
_RESET = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)  # the system forgets the rest, too
_log = logging.getLogger("parkade.explorer")


class Connection(H11Protocol):
    """A connection that knows since when it has waited for a request, or could send nothing.

    If there are too many, a new one takes the place of the one that has waited longest.
    """

    since = 0.0
    stuck = 0.0
    _seen = 0

    @property
    def waits(self) -> bool:
        """Whether no request is under way."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for a request."""
        assert isinstance(transport, asyncio.Transport)
        _set_option(transport, socket.SO_SNDBUF, SEND_BUFFER)
        super().connection_made(cast(asyncio.Transport, _Counting(transport)))
        self.since = self.loop.time()
        if len(_open(self.connections)) > most_connections():
            oldest = min(_waiting(self.connections), key=lambda connection: connection.since)
            oldest.transport.close()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self.since = self.loop.time()

    @property
    def sent(self) -> int:
        """Bytes of answers that the system has taken."""
        return cast(_Counting, self.transport).written - self.transport.get_write_buffer_size()

    def watch(self, seconds: float) -> None:
        """End if nothing could be sent for too long; these seconds have passed since the last look.

        A connection that is closing stays open until all is sent, so this one may be closing, too.
        """
        sent = self.sent
        if sent != self._seen or self.transport.get_write_buffer_size() == 0:
            self._seen, self.stuck = sent, 0.0
            return
        self.stuck += seconds
        if self.stuck >= UNREAD_SECONDS:
            _set_option(self.transport, socket.SO_LINGER, _RESET)
            self.transport.abort()


class _Counting:
    """A transport that counts the bytes written to it."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.written = 0

    def write(self, data: bytes) -> None:
        self.written += len(data)
        self._transport.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


def end_waiting(connections: Iterable[Any], since: float) -> None:
    """End the connections that have waited for a request since this time, or longer."""
    for connection in _waiting(connections):
        if connection.since <= since:
            connection.transport.close()


def end_unread(connections: Iterable[Any], seconds: float) -> None:
    """End the connections whose clients read nothing; `seconds` have passed since the last call."""
    for connection in list(connections):
        connection.watch(seconds)


def most_connections() -> int:
    """Most connections at once: they take half of the files that this process may open."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return MOST
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if allowed == resource.RLIM_INFINITY else min(MOST, allowed // 2)


class Exhausted:
    """Hears of errors in an event loop: if files run out, makes room for new connections.

    asyncio tries to accept them again after a second; it would write a traceback for each.
    """

    def __init__(self, connections: Iterable[Any]) -> None:
        self._connections = connections
        self._silent_until = 0.0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Handle an error of the event loop."""
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in _EXHAUSTED:
            loop.default_exception_handler(context)
            return
        end_waiting(self._connections, loop.time())
        if loop.time() >= self._silent_until:
            self._silent_until = loop.time() + SILENCE
            _log.warning(
                "the explorer cannot accept connections (%s); it closes those that ask for "
                "nothing, and tries again; allow more open files with ulimit -n",
                error.strerror,
            )


def _set_option(transport: asyncio.Transport, option: int, value: int | bytes) -> None:
    """Set an option of a socket, unless the client has left."""
    with suppress(OSError):
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, option, value)


def _open(connections: Iterable[Any]) -> list[Connection]:
    return [connection for connection in connections if not connection.transport.is_closing()]


def _waiting(connections: Iterable[Any]) -> list[Connection]:
    return [connection for connection in _open(connections) if connection.waits]
