"""The server of the explorer: the page, its presets, runs as streams, and downloads."""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, NoReturn

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from parkade.base.errors import ParkadeError
from parkade.base.progress import Report
from parkade.explorer import export
from parkade.explorer.access import Gate, answer, reply
from parkade.explorer.limits import Limits
from parkade.explorer.presets import presets
from parkade.explorer.run import Work
from parkade.explorer.settings import FieldError, Settings
from parkade.explorer.tasks import (
    BugError,
    BusyError,
    Call,
    Desk,
    Done,
    Event,
    Failed,
    Note,
    Progress,
    Task,
)

BODY = 2**18
"""Most bytes of a request."""

PATIENCE = 10.0
"""Seconds within which a request must have arrived."""


def create_app(limits: Limits | None = None, desk: Desk | None = None) -> ASGIApp:
    """The ASGI application; limits and desk as they are by default, or others."""
    allowed = limits or Limits()
    counter = desk or Desk()

    def work(make: Callable[[Work], Call]) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> ASGIApp:
            try:
                chosen = Settings.read(_decode(await _body(request)))
                return Answer(counter.take(make(Work(chosen, allowed))), *_FORMS[make])
            except ClientDisconnect:
                return Response()  # to nobody

        return endpoint

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            counter.close()

    app = Starlette(
        routes=[
            Route("/", _page),
            Mount("/static", StaticFiles(directory=export.PAGE, check_dir=False)),
            Route("/api/presets", _presets),
            Route("/api/run", work(_scene), methods=["POST"]),
            Route("/api/download/npz", work(_npz), methods=["POST"]),
            Route("/api/download/html", work(_html), methods=["POST"]),
        ],
        exception_handlers={
            FieldError: _refuse,
            BusyError: _busy,
            HTTPException: _http,
            Exception: _bug,
        },
        lifespan=lifespan,
    )
    return Gate(app)


class Answer:
    """What becomes of a task, sent while it is made, for as long as somebody listens."""

    def __init__(self, task: Task, media: str, name: str | None) -> None:
        self._task = task
        self._headers = [(b"content-type", media.encode())]
        if name is not None:
            self._headers.append(
                (b"content-disposition", f'attachment; filename="{name}"'.encode())
            )
        self._streams = name is None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        begun = False
        async with contextlib.aclosing(self._task.events(_gone(receive))) as events:
            async for event in events:
                if not begun and isinstance(event, Failed):
                    await _failure(event.error)(scope, receive, send)
                    return
                body = _line(event) if self._streams else _whole(event)
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
            told: dict[str, Any] = {"progress": fraction}
        case Note(text):
            told = {"note": text}
        case Failed(error):
            told = {"error": str(error), "field": getattr(error, "field", None)}
    return json.dumps(told).encode() + b"\n"


def _whole(event: Event) -> bytes | None:
    """A download is sent when it is there."""
    if isinstance(event, Done):
        return bytes(event.result)
    return None


async def _gone(receive: Receive) -> None:
    """Return when the client is no longer there."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _scene(work: Work) -> Call:
    def call(report: Report, cancelled: Callable[[], bool]) -> bytes:
        return json.dumps(work.scene(report, cancelled), allow_nan=False).encode()

    return call


def _npz(work: Work) -> Call:
    def call(report: Report, cancelled: Callable[[], bool]) -> bytes:
        run, _ = work.simulate(report, cancelled)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "run.npz")
            run.save(path)
            return path.read_bytes()

    return call


def _html(work: Work) -> Call:
    def call(report: Report, cancelled: Callable[[], bool]) -> bytes:
        return export.page(work.scene(report, cancelled)).encode()

    return call


_FORMS: dict[Callable[[Work], Call], tuple[str, str | None]] = {
    _scene: ("application/x-ndjson", None),
    _npz: ("application/octet-stream", "parkade.npz"),
    _html: ("text/html; charset=utf-8", "parkade.html"),
}


async def _page(request: Request) -> Response:
    return Response((export.PAGE / "index.html").read_bytes(), media_type="text/html")


async def _presets(request: Request) -> Response:
    return reply([preset.to_dict() for preset in presets()])


async def _body(request: Request) -> bytes:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, f"send settings as application/json, got {kind[:60] or 'nothing'}")
    received = bytearray()
    try:
        async with asyncio.timeout(PATIENCE):
            async for piece in request.stream():
                received += piece
                if len(received) > BODY:
                    raise HTTPException(413, f"settings must have at most {BODY} bytes")
    except TimeoutError:
        raise HTTPException(408, f"the settings did not arrive within {PATIENCE:g} s") from None
    return bytes(received)


def _decode(body: bytes) -> Any:
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_no_number)
    except FieldError:
        raise
    except (ValueError, RecursionError) as error:
        brief = str(error)[:100]
        raise HTTPException(400, f"settings must be one JSON object, got none: {brief}") from None


def _no_number(text: str) -> NoReturn:
    raise FieldError(None, f"settings must be finite numbers, got {text}")


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, ParkadeError)
    return _failure(error)


async def _busy(request: Request, error: Exception) -> Response:
    return answer(429, str(error), headers={"retry-after": "1"})


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    told = {404: f"there is nothing at {request.url.path[:60]}", 405: "this is not to be asked so"}
    return answer(
        error.status_code, told.get(error.status_code, error.detail), headers=error.headers
    )


async def _bug(request: Request, error: Exception) -> Response:
    return answer(500, f"this is a bug in parkade ({type(error).__name__}); please report it")


def _failure(error: ParkadeError) -> Response:
    status = 500 if isinstance(error, BugError) else 422
    return answer(status, str(error), getattr(error, "field", None))
