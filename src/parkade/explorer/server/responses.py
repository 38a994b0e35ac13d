"""Responses of the server: JSON, errors, and what a task of the queue returns."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from parkade.base.errors import ParkadeError
from parkade.explorer.server.run_queue import BugError, Done, Event, Failed, Note, Progress, Task


def json_response(
    data: Any, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Data as JSON in ASCII, which a lone surrogate in a hostile text does not break."""
    text = json.dumps(data, allow_nan=False)
    return Response(text, status, headers=headers, media_type="application/json")


def file_response(
    request: Request, body: bytes, media: str, headers: Mapping[str, str] | None = None
) -> Response:
    """A file of the page; a browser that has it already gets "not modified" only.

    It then also has the script in compiled form.
    """
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    known = request.headers.get("if-none-match", "")
    if tag in (each.strip().removeprefix("W/") for each in known.split(",")):
        return Response(status_code=304, headers={"etag": tag})
    return Response(body, media_type=media, headers={**(headers or {}), "etag": tag})


def error_response(
    status: int, sentence: str, headers: Mapping[str, str] | None = None
) -> Response:
    """An error that concerns no setting, as the page reads it."""
    return json_response({"error": sentence, "field": None}, status, headers)


def failure_response(error: ParkadeError) -> Response:
    """The response for a run that failed."""
    return json_response(error_data(error), 500 if isinstance(error, BugError) else 422)


def error_data(error: ParkadeError) -> dict[str, Any]:
    """An error as the page reads it, with the errors of other settings beside it."""
    data = {"error": str(error), "field": getattr(error, "field", None)}
    others = [error_data(other) for other in getattr(error, "others", [])]
    return {**data, "others": others} if others else data


class TaskResponse:
    """What a task returns, as a file or as a stream of events, while the client is connected.

    Parameters
    ----------
    task : Task
    media : str
        The media type.
    name : str, optional
        The name of the file; without a name, events are streamed as lines of JSON.
    """

    def __init__(self, task: Task, media: str, name: str | None = None) -> None:
        self._task = task
        self._headers = [(b"content-type", media.encode())]
        if name is not None:
            self._headers.append(
                (b"content-disposition", f'attachment; filename="{name}"'.encode())
            )
        self._streams = name is None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send what the task returns, as it comes."""
        begun = False
        async with contextlib.aclosing(self._task.events(_disconnected(receive))) as events:
            async for event in events:
                if not begun and isinstance(event, Failed):
                    await failure_response(event.error)(scope, receive, send)
                    return
                body = _line(event) if self._streams else _file(event)
                if body is None:
                    continue
                if not begun:
                    begun = True
                    await send(
                        {"type": "http.response.start", "status": 200, "headers": self._headers}
                    )
                await send({"type": "http.response.body", "body": body, "more_body": True})
        if begun:
            await send({"type": "http.response.body", "body": b"", "more_body": False})


def _line(event: Event) -> bytes:
    """An event of a stream, as a line of JSON."""
    match event:
        case Done(scene):
            return b'{"scene": %b}\n' % scene
        case Progress(fraction):
            message: dict[str, Any] = {"progress": fraction}
        case Note(text):
            message = {"note": text}
        case Failed(error):
            message = error_data(error)
    return json.dumps(message).encode() + b"\n"


def _file(event: Event) -> bytes | None:
    """The bytes of a file, which is sent when it is complete."""
    return bytes(event.value) if isinstance(event, Done) else None


async def _disconnected(receive: Receive) -> None:
    """Return when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
