"""A usual Firefox, driven by WebDriver BiDi. It needs no driver; Playwright drives only its own."""

from __future__ import annotations

import base64
import contextlib
import json
import re
import shutil
import subprocess
import threading

from tornado.websocket import websocket_connect

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
PAGE_DOWN = "\ue00f"
PREFERENCES = {"ui.prefersReducedMotion": 1, "app.normandy.enabled": False}


class Firefox:
    """One tab of a Firefox."""

    def __init__(self, socket):
        self._socket, self._count = socket, 0
        self.wrong = []

    async def call(self, method, **parameters):
        """Send a command and return its result; errors of the page are kept in `wrong`."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        await self._socket.write_message(json.dumps(message))
        while True:
            heard = json.loads(await self._socket.read_message())
            if heard.get("id") == self._count:
                assert heard["type"] == "success", heard
                return heard["result"]
            if heard.get("method") == "log.entryAdded" and heard["params"]["level"] == "error":
                self.wrong.append(heard["params"]["text"])

    async def begin(self):
        await self.call("session.new", capabilities={})
        await self.call("session.subscribe", events=["log.entryAdded"])
        tree = await self.call("browsingContext.getTree")
        self.tab = {"context": tree["contexts"][0]["context"]}
        size = {"width": 1280, "height": 800}
        await self.call("browsingContext.setViewport", **self.tab, viewport=size)

    async def open(self, address):
        """Open the explorer's page, and wait for its scene."""
        await self.call("browsingContext.navigate", **self.tab, url=address, wait="complete")
        await self.get("parkade.ready.then(() => parkade.idle())")

    async def get(self, expression):
        """The value of an expression in the page, if it is JSON."""
        text = f"Promise.resolve({expression}).then((result) => JSON.stringify(result ?? null))"
        result = await self.call(
            "script.evaluate", expression=text, target=self.tab, awaitPromise=True
        )
        assert result["type"] == "success", result
        return json.loads(result["result"]["value"])

    async def press(self, key):
        strokes = [{"type": kind, "value": key} for kind in ("keyDown", "keyUp")]
        source = {"type": "key", "id": "keys", "actions": strokes}
        await self.call("input.performActions", **self.tab, actions=[source])
        await self.get("parkade.idle()")

    async def screenshot(self):
        """What is seen, as a PNG file."""
        result = await self.call("browsingContext.captureScreenshot", **self.tab)
        return base64.b64decode(result["data"])


@contextlib.asynccontextmanager
async def firefox(profile):
    """A Firefox with a profile of its own, in an empty folder."""
    lines = [f'user_pref("{name}", {json.dumps(value)});' for name, value in PREFERENCES.items()]
    (profile / "user.js").write_text("\n".join(lines))
    command = [FIREFOX, "--headless", "--no-remote", "--profile", profile]
    with subprocess.Popen(
        [*command, "--remote-debugging-port", "0"], stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            lines = (re.search(r"BiDi listening on (ws://\S+)", line) for line in process.stderr)
            address = next(filter(None, lines))[1]
            # Somebody has to read what it says, or it waits.
            threading.Thread(target=process.stderr.read, daemon=True).start()
            socket = await websocket_connect(f"{address}/session", max_message_size=2**28)
            tab = Firefox(socket)
            await tab.begin()
            yield tab
            socket.close()
            while await socket.read_message() is not None:
                pass
        finally:
            process.kill()
