"""Who may use the server: the browser on this machine, from our own page; and the page's policy."""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from parkade.explorer.server.responses import error_response

NAMES = ("127.0.0.1", "localhost", "[::1]")
"""Names of this machine. Any other name may belong to somebody else's site that points here."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "media-src blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)

HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-cache",
}


class LocalOnly:
    """Passes on requests that name this machine and come from no other site."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # the explorer has no websockets
            await send({"type": "websocket.close"})
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        app = _refusal(scope) or self._app
        await app(scope, receive, with_headers)


def _refusal(scope: Scope) -> Response | None:
    """The response to a request that is refused; None if it is not."""
    headers = Headers(scope=scope)
    hosts = headers.getlist("host")
    if len(hosts) != 1 or _name(hosts[0]) not in NAMES:
        return error_response(
            421,
            f"this server answers to {', '.join(NAMES)} only, got {_shown(hosts)} as its name; "
            "open the address that parkade explore prints",
        )
    origins = headers.getlist("origin")
    if any(origin != f"http://{hosts[0]}" for origin in origins):
        return error_response(
            403, f"requests from other sites are refused, got one from {_shown(origins)}"
        )
    sites = headers.getlist("sec-fetch-site")
    # A link on another site may open the page, and nothing else.
    if scope["path"] != "/" and any(site not in ("same-origin", "none") for site in sites):
        return error_response(403, "requests from other sites are refused; open the page itself")
    return None


def _name(host: str) -> str:
    """The name in a Host header, without its port."""
    name, colon, port = host.rpartition(":")
    return name.lower() if colon and port.isascii() and port.isdigit() else host.lower()


def _shown(values: list[str]) -> str:
    return ", ".join(value[:60] for value in values[:2]) or "nothing"
