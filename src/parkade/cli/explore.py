"""`parkade explore`: the explorer, in the browser."""

from __future__ import annotations

from typing import Annotated

import typer

from parkade.cli.guard import guarded, interruptible

EXAMPLES = ("parkade explore", "parkade explore --no-browser --port 8000")


@guarded
def explore(
    port: Annotated[
        int | None,
        typer.Option("--port", help="Port to listen on.  [default: 8765, or a free one]"),
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page.")] = True,
) -> None:
    """Explore how tokens cluster, in the browser. Press Ctrl-C to stop."""
    with interruptible("the explorer is closed"):
        try:
            from parkade.explorer.server.serve import serve
        except ModuleNotFoundError as missing:
            from parkade.base.errors import ParkadeError

            raise ParkadeError(
                f"the explorer needs {missing.name}; install it with pip install 'parkade[explore]'"
            ) from None

        def opened(address: str) -> None:
            print(f"parkade explorer: {address}  (Ctrl-C to stop)", flush=True)
            if browser:
                import webbrowser

                webbrowser.open(address)

        serve(port, opened)
