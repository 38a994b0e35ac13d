"""Run the explorer's server on this machine, for this machine only."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn

from parkade.base.errors import InputError
from parkade.explorer.app import create_app

HOST = "127.0.0.1"
PORT = 8765
"""Where it is by default; if somebody else is there, at any free port."""


def serve(port: int | None, opened: Callable[[str], None]) -> None:
    """Serve until interrupted; `opened` is told the address once it answers."""
    listener = _listen(port)
    address = f"http://{HOST}:{listener.getsockname()[1]}/"
    config = uvicorn.Config(
        create_app(),
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="none",
        lifespan="on",
        timeout_graceful_shutdown=1,  # a stream would go on as long as its run
    )
    _Server(config, lambda: opened(address)).run(sockets=[listener])


class _Server(uvicorn.Server):
    """A server that says when it is there."""

    def __init__(self, config: uvicorn.Config, opened: Callable[[], None]) -> None:
        super().__init__(config)
        self._opened = opened

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._opened()


def _listen(port: int | None) -> socket.socket:
    """A socket at this port; without a wish, at the usual one or any other."""
    if port is not None and not 0 <= port <= 65535:
        raise InputError(f"port must be from 0 to 65535, got {port}; 0 takes a free one")
    for wish in [PORT, 0] if port is None else [port]:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        # One that has just been closed may be used again.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, wish))
            listener.listen(128)
            return listener
        except OSError as error:
            listener.close()
            if wish == port:
                raise InputError(
                    f"cannot listen at port {port} ({error.strerror}); leave --port out to take a "
                    "free one"
                ) from None
    raise InputError(f"no port is free at {HOST}; close another server")
