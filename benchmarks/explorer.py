"""From a slider to a picture: milliseconds from POST to the whole scene, on loopback, warm.

    python benchmarks/explorer.py            prints a table in Markdown

A real server on a free port gets requests for every preset and a few other settings, one after
another. Each request is sent once before it is timed. Typical settings should take less than
200 ms; "long" marks settings that are not meant for dragging a slider.
"""

from __future__ import annotations

import http.client
import json
import socket
import statistics
import threading
import time
from typing import Any

import uvicorn

from parkade.explorer import Settings
from parkade.explorer.server.app import create_app
from parkade.explorer.settings.presets import presets

BAR = 200.0
ROUNDS = 9
LONG = ("life", "pre-norm", "heads", "window")

OTHERS = {
    "default": Settings(),
    "n = 500": Settings(n=500, d=2, beta=64, T=150),
    "d = 16": Settings(n=64, d=16, T=100),
    "Q, K random": Settings(Q="random:1", K="random:2", T=100),
}


def table() -> None:
    """Median and best of each, and what the simulation alone took."""
    asked = {p.name: p.settings for p in presets()} | OTHERS
    print(
        "| settings | n | d | T | frames | scene, kB | simulation, ms | best, ms | median, ms | |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---|")
    port = _serve()
    for name, settings in asked.items():
        scene, size, _ = ask(port, settings)
        spent = [ask(port, settings)[2] for _ in range(ROUNDS)]
        median = statistics.median(spent)
        outcome = "long" if name in LONG else "met" if median < BAR else "**missed**"
        print(
            f"| {name} | {settings.n} | {settings.d} | {settings.T:g} | {len(scene['times'])} | "
            f"{size / 1e3:.0f} | {1e3 * scene['stats']['seconds']:.0f} | {min(spent):.0f} | "
            f"{median:.0f} | {outcome} |"
        )


def ask(port: int, settings: Settings) -> tuple[dict[str, Any], int, float]:
    """A scene, its size in bytes, and the milliseconds it took to come."""
    begun = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port)
    body = json.dumps(settings.to_dict())
    connection.request("POST", "/api/run", body, {"Content-Type": "application/json"})
    last = connection.getresponse().read().splitlines()[-1]
    spent = 1e3 * (time.perf_counter() - begun)
    connection.close()
    return json.loads(last)["scene"], len(last), spent


def _serve() -> int:
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(create_app(), log_level="error", ws="none"))
    threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True).start()
    port: int = listener.getsockname()[1]
    return port


if __name__ == "__main__":
    table()
