"""Connections of the explorer's server: those that ask for nothing do not stay."""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Iterable
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0
"""Seconds within which the head of a request must have arrived."""

MOST = 256
"""Most connections at once, where this process may open many files."""

SILENCE = 60.0
"""Seconds between two sentences about connections that could not be accepted."""

_EXHAUSTED = errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM
_log = logging.getLogger("parkade.explorer")


class Connection(H11Protocol):
    """A connection that knows since when it has waited for a request.

    If there are too many, a new one takes the place of the one that has waited longest.
    """

    since = 0.0

    @property
    def waits(self) -> bool:
        """Whether no request is under way."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for a request."""
        assert isinstance(transport, asyncio.Transport)
        super().connection_made(transport)
        self.since = self.loop.time()
        if len(_open(self.connections)) > most_connections():
            oldest = min(_waiting(self.connections), key=lambda connection: connection.since)
            oldest.transport.close()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self.since = self.loop.time()


def end_waiting(connections: Iterable[Any], since: float) -> None:
    """End the connections that have waited for a request since this time, or longer."""
    for connection in _waiting(connections):
        if connection.since <= since:
            connection.transport.close()


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
        """Handle an error."""
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


def _open(connections: Iterable[Any]) -> list[Connection]:
    return [connection for connection in connections if not connection.transport.is_closing()]


def _waiting(connections: Iterable[Any]) -> list[Connection]:
    return [connection for connection in _open(connections) if connection.waits]
