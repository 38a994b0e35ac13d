"""What the tests of the explorer share: a client of its application, and scenes taken apart."""

from __future__ import annotations

import asyncio
import base64
import json

import httpx
import numpy as np

from parkade.explorer.app import create_app
from parkade.explorer.limits import Limits
from parkade.explorer.tasks import Desk

SMALL = {"n": 12, "d": 2, "beta": 16, "T": 20}
"""Settings that take a few milliseconds."""

ENDLESS = {"n": 16, "d": 2, "V": "1,-1;1,1", "Q": "1,2;0,1", "T": 2e6}
"""Settings that take a minute: tokens that turn for ever, in a way no moving frame removes."""

PATIENT = Limits(memory=1e12, work=1e9)
"""Limits that let them."""


class Client:
    """Calls an application without a network, one request after another."""

    def __init__(self, limits: Limits | None = None, desk: Desk | None = None) -> None:
        self.desk = desk or Desk(places=2)
        self.app = create_app(limits, self.desk)

    def request(self, method, path, *, headers=None, **more):
        async def call():
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(
                transport=transport, base_url="http://127.0.0.1:8765", timeout=60
            ) as client:
                return await client.request(method, path, headers=headers, **more)

        return asyncio.run(call())

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, path, data=None, **more):
        body = data if isinstance(data, bytes) else json.dumps(data).encode()
        headers = {"content-type": "application/json", **more.pop("headers", {})}
        return self.request("POST", path, content=body, headers=headers, **more)


def lines(response):
    """The messages of a stream."""
    return [json.loads(line) for line in response.text.splitlines()]


def frames(scene):
    """The tokens of a scene, (F, n, d)."""
    found = np.frombuffer(base64.b64decode(scene["frames"]), "<f4")
    return found.reshape(len(scene["times"]), scene["n"], scene["d"])


def labels(scene):
    """The labels of a scene, (F, n)."""
    found = np.frombuffer(base64.b64decode(scene["labels"]), "<u2")
    return found.reshape(len(scene["times"]), scene["n"])
