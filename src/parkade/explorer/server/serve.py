"""Run the explorer's server, which listens to this machine only."""

from __future__ import annotations

import asyncio
import math
import socket
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

from parkade.base.errors import InputError
from parkade.explorer.server import connections
from parkade.explorer.server.app import create_app

HOST = "127.0.0.1"
PORT = 8765
"""The default port; if it is taken, any free port is used."""


def serve(port: int | None, opened: Callable[[str], None]) -> None:
    """Serve until interrupted; `opened` is called with the address once the server answers."""
    listener = _listen(port)
    address = f"http://{HOST}:{listener.getsockname()[1]}/"
    _Server(create_app(), lambda: opened(address)).run(sockets=[listener])


class _Server(uvicorn.Server):
    """A server that calls a function once it has started, and ends idle connections."""

    def __init__(self, app: ASGIApp, opened: Callable[[], None]) -> None:
        config = uvicorn.Config(
            app,
            http=connections.Connection,
            backlog=max(1, connections.most_connections() // 4),  # those accepted at once, too
            log_level="warning",
            access_log=False,
            server_header=False,
            ws="none",
            lifespan="on",
            timeout_graceful_shutdown=1,  # not until streams end, which last as long as their runs
        )
        super().__init__(config)
        self._opened = opened
        self._looked = math.inf

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            exhausted = connections.Exhausted(self.server_state.connections)
            asyncio.get_running_loop().set_exception_handler(exhausted)
            self._opened()

    async def on_tick(self, counter: int) -> bool:
        now = asyncio.get_running_loop().time()
        connections.end_waiting(self.server_state.connections, now - connections.HEAD_SECONDS)
        # At most a second: if the machine was paused, clients could not read either.
        passed = min(max(now - self._looked, 0.0), 1.0)
        self._looked = now
        connections.end_unread(self.server_state.connections, passed)
        return await super().on_tick(counter)


def _listen(port: int | None) -> socket.socket:
    """A socket at this port; for None, at the default port or any free one."""
    if port is not None and not 0 <= port <= 65535:
        raise InputError(f"port must be from 0 to 65535, got {port}; 0 takes a free one")
    for candidate in [PORT, 0] if port is None else [port]:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        # A port that has just been closed can be used again at once.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, candidate))
            listener.listen(128)
            return listener
        except OSError as error:
            listener.close()
            if candidate == port:
                raise InputError(
                    f"cannot listen at port {port} ({error.strerror}); leave --port out to take a "
                    "free one"
                ) from None
    raise InputError(f"no port is free at {HOST}; close another server")
