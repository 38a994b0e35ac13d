"""Progress of long tasks: a bar with an ETA, and messages when something takes long."""

from __future__ import annotations

import html
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib import import_module

Report = Callable[[float], None]
"""A function of the fraction done, between 0 and 1."""


PATIENCE = 10.0
"""Seconds after which a task without a progress bar prints that it is still running."""

AGAIN = 60.0
"""Seconds after which it prints that, wherever standard error goes; then after twice as many."""


@contextmanager
def bar(
    label: str, *, show: bool = True, instead: Report | None = None, remind: bool = False
) -> Iterator[Report]:
    """Show a progress bar on standard error and yield the function that updates it.

    With `instead`, a function of the fraction done, yield that function and show nothing. With
    `remind`, a long task without a bar prints once how far it is.
    """
    if instead is not None or not show:
        yield instead or (_reminder() if remind else lambda fraction: None)
        return
    from rich import progress as rich
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_jupyter:  # where rich needs ipywidgets, and warns at every step without them
        report, end = _in_notebook(label)
        try:
            yield report
        finally:
            end()
        return
    columns = (
        rich.TextColumn("{task.description}"),
        rich.BarColumn(),
        rich.TaskProgressColumn(),
        rich.TimeElapsedColumn(),
        rich.TextColumn("ETA"),
        rich.TimeRemainingColumn(),
    )
    with rich.Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(label, total=1.0)
        yield lambda fraction: progress.update(task, completed=fraction)


def _in_notebook(label: str) -> tuple[Report, Callable[[], None]]:
    """A report that draws a bar below the cell of a notebook, and a function that removes it."""
    show = import_module("IPython.display")
    place = show.display(show.HTML(""), display_id=True)
    due = 0.0

    def report(fraction: float) -> None:
        nonlocal due
        if time.monotonic() > due:
            due = time.monotonic() + 0.1
            bar = f'<progress value="{fraction:.3f}"></progress>'
            place.update(show.HTML(f"{html.escape(label)} {bar} {100 * fraction:.0f}%"))

    return report, lambda: place.update(show.HTML(""))


def _reminder() -> Report:
    """A report that prints how far a task is: on a terminal soon, anywhere after minutes."""
    begun = time.monotonic()
    after = PATIENCE

    def report(fraction: float) -> None:
        nonlocal after
        passed = time.monotonic() - begun
        if passed > after and fraction < 1:
            early = after < AGAIN
            after = AGAIN * 2.0 ** max(0, math.floor(math.log2(passed / AGAIN)) + 1)
            if not early or (sys.stderr is not None and sys.stderr.isatty()):
                done = f"{100 * fraction:.2g}% done after {passed:.0f} s"
                _to_standard_error(f"still running, {done}; progress=True shows a bar")

    return report


def _to_standard_error(message: str) -> None:
    if sys.stderr is not None:  # with None, print writes to standard output
        with suppress(OSError):  # closed, or a full disk: the message is lost
            print(f"parkade: {message}", file=sys.stderr, flush=True)


tell: ContextVar[Callable[[str], None]] = ContextVar("tell", default=_to_standard_error)
"""Where messages about waiting go: standard error by default."""


_purposes: ContextVar[list[str]] = ContextVar("purposes")


@contextmanager
def compiling(purpose: str) -> Iterator[None]:
    """Say what code is for, if some has to be compiled while the block runs."""
    token = _purposes.set([purpose])
    try:
        yield
    finally:
        _purposes.reset(token)


def say_compiling() -> None:
    """Say that code is compiled now, once for each purpose, and nothing where there is none."""
    purposes = _purposes.get(None)
    if purposes:
        tell.get()(f"compiling {purposes.pop()}, once")
