"""The server of the explorer: the page, its schema and presets, runs as streams, and downloads.

What computes is imported by the first run, so that the page is there before the engines are.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
from collections.abc import AsyncIterator, Callable
from functools import cache
from typing import Any, NamedTuple, NoReturn

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from parkade.base.errors import ParkadeError
from parkade.base.progress import Report
from parkade.explorer.scenes import recorded
from parkade.explorer.server.access import LocalOnly
from parkade.explorer.server.recent import Recent
from parkade.explorer.server.responses import (
    TaskResponse,
    error_response,
    failure_response,
    file_response,
)
from parkade.explorer.server.run_queue import BusyError, RunQueue
from parkade.explorer.settings.equation import equation
from parkade.explorer.settings.limits import Limits
from parkade.explorer.settings.presets import presets
from parkade.explorer.settings.schema import FieldError, schema
from parkade.explorer.settings.settings import Settings
from parkade.explorer.standalone import export
from parkade.explorer.standalone.bundle import PAGE, bundle

MAX_BODY = 2**18
"""Most bytes of a request."""

BODY_SECONDS = 10.0
"""Seconds within which a request must have arrived."""


class Job(NamedTuple):
    """A run that a client has asked for, with the arguments of `compute_run`."""

    settings: Settings
    limits: Limits
    report: Report
    cancelled: Callable[[], bool]


Output = Callable[[Job], bytes]
"""A function that computes what is sent for a job."""


def create_app(limits: Limits | None = None, queue: RunQueue | None = None) -> ASGIApp:
    """The ASGI application, with these limits and this queue or the default ones."""
    allowed = limits or Limits()
    runs = queue or RunQueue()
    recent = Recent()

    def once(output: Output) -> Output:
        def cached(job: Job) -> bytes:
            key = output, tuple(job.settings.to_dict().values())
            return recent.get(key, lambda: output(job))

        return cached

    def computed(output: Output, media: str, name: str | None = None) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> ASGIApp:
            try:
                settings = Settings.read(_decode(await _body(request)))
            except ClientDisconnect:
                return Response()  # nobody receives it
            task = runs.submit(lambda *hooks: output(Job(settings, allowed, *hooks)))
            return TaskResponse(task, media, name)

        return endpoint

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            runs.close()

    files: dict[str, tuple[Callable[[], bytes], str]] = {
        "/": ((PAGE / "index.html").read_bytes, "text/html"),
        # Browsers ask for this one where a document names none.
        "/favicon.ico": ((PAGE / "icon.svg").read_bytes, "image/svg+xml"),
        # All modules as one, as in an exported file: sixty requests would take longer.
        "/static/main.js": (lambda: bundle(PAGE / "main.js").encode(), "text/javascript"),
        "/api/schema": (_schema_text, "application/json"),
        "/api/presets": (_presets_text, "application/json"),
    }
    npz = computed(_npz, "application/octet-stream", "parkade.npz")
    html = computed(_html, "text/html; charset=utf-8", "parkade.html")
    live = computed(_live, "text/html; charset=utf-8", "parkade.html")
    app = Starlette(
        routes=[
            *(Route(path, _served(*file)) for path, file in files.items()),
            Mount("/static", StaticFiles(directory=PAGE, check_dir=False)),
            Route("/api/recorded/{name}", _recorded),
            Route("/api/run", computed(once(_scene), "application/x-ndjson"), methods=["POST"]),
            Route("/api/stairs", computed(once(_stairs), "application/x-ndjson"), methods=["POST"]),
            Route("/api/download/npz", npz, methods=["POST"]),
            Route("/api/download/html", html, methods=["POST"]),
            Route("/api/download/live", live, methods=["POST"]),
        ],
        exception_handlers={
            FieldError: _refuse,
            BusyError: _busy,
            HTTPException: _http,
            Exception: _bug,
        },
        lifespan=lifespan,
    )
    return LocalOnly(app)


def _scene(job: Job) -> bytes:
    from parkade.explorer.scenes.compute import compute_scene

    return json.dumps(compute_scene(*job), allow_nan=False).encode()


def _stairs(job: Job) -> bytes:
    from parkade.explorer.scenes.stairs import compute_stairs

    return json.dumps(compute_stairs(*job)).encode()


def _npz(job: Job) -> bytes:
    from parkade.explorer.scenes.compute import compute_run
    from parkade.runs import archive

    run, _ = compute_run(*job)
    file = io.BytesIO()
    archive.write_to(file, run)
    return file.getvalue()


def _html(job: Job) -> bytes:
    from parkade.explorer.scenes.compute import compute_scene

    return export.page(compute_scene(*job)).encode()


def _live(job: Job) -> bytes:
    from parkade.explorer.scenes.compute import compute_scene
    from parkade.explorer.standalone import contents

    contents.check(job.settings)
    return export.page(compute_scene(*job), live=True).encode()


def _served(content: Callable[[], bytes], media: str) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        return file_response(request, content(), media)

    return endpoint


async def _recorded(request: Request) -> Response:
    body = recorded.packed(request.path_params["name"])
    if body is None:
        raise HTTPException(404)
    return file_response(request, body, "application/json", {"content-encoding": "gzip"})


@cache
def _schema_text() -> bytes:
    data = {"fields": schema(Settings), "equation": equation(Settings().model)}
    return json.dumps(data, allow_nan=False).encode()


@cache
def _presets_text() -> bytes:
    return json.dumps([preset.to_dict() for preset in presets()], allow_nan=False).encode()


async def _body(request: Request) -> bytes:
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/json":
        got = media[:60] or "nothing"
        raise HTTPException(415, f"send settings as application/json, got {got}")
    received = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for piece in request.stream():
                received += piece
                if len(received) > MAX_BODY:
                    raise HTTPException(413, f"settings must have at most {MAX_BODY} bytes")
    except TimeoutError:
        raise HTTPException(
            408, f"the settings did not arrive within {BODY_SECONDS:g} s; send them again"
        ) from None
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
    return failure_response(error)


async def _busy(request: Request, error: Exception) -> Response:
    return error_response(429, str(error), headers={"retry-after": "1"})


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    path = request.url.path[:60]
    headers = {name.lower(): value for name, value in (error.headers or {}).items()}
    allowed = ", ".join(sorted(headers.get("allow", "").split(", ")))
    sentences = {
        404: f"there is nothing at {path}; open /",
        405: f"{request.method[:20]} is not allowed at {path}; use {allowed or 'another method'}",
    }
    sentence = sentences.get(error.status_code, error.detail)
    return error_response(error.status_code, sentence, headers=error.headers)


async def _bug(request: Request, error: Exception) -> Response:
    return error_response(
        500, f"this is a bug in parkade ({type(error).__name__}); please report it"
    )
