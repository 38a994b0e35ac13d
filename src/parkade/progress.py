"""Progress of long work: a bar with an ETA, and a word when the compiler keeps one waiting."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Report = Callable[[float], None]
"""Takes the fraction done, between 0 and 1."""


@contextmanager
def bar(label: str, *, show: bool = True, instead: Report | None = None) -> Iterator[Report]:
    """Show a progress bar on standard error and yield the function that moves it.

    With `instead`, a function of the fraction done, that is yielded, and nothing is shown.
    """
    if instead is not None or not show:
        yield instead or (lambda fraction: None)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("ETA"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(label, total=1.0)
        yield lambda fraction: progress.update(task, completed=fraction)


@contextmanager
def say_if_slow(message: str, seconds: float = 1.5) -> Iterator[None]:
    """Print `message` to standard error if the block takes longer than `seconds`."""
    timer = threading.Timer(seconds, print, (message,), {"file": sys.stderr, "flush": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
