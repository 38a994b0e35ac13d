"""All commands and their help.

Each command has a module with a function of the same name, and its examples. Slow imports are
inside the functions, so that `parkade --help` is fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Annotated

import typer

COMMANDS = (
    "simulate", "timeline", "certify", "explore", "export", "sweep", "reproduce", "verify",
    "trained", "heads.meaning", "heads.context", "bench", "warmup",
)  # fmt: skip
"""The modules of the commands, whose last names are theirs, in the order of the help."""

_TITLE = "Why tokens cluster in transformers: causal self-attention on a sphere."

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain text: the same on a terminal, in a pipe, in a log
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 88},
)


def _help(text: str | None, examples: Sequence[str], file: str = "") -> str:
    # \b tells the formatter to keep the lines of the paragraph apart.
    parts = [text or "", "\n".join(["\b", "Examples:", *(f"  {e}" for e in examples)])]
    if file:
        parts.append("\n".join(["\b", "A file:", *(f"  {line}" for line in file.splitlines())]))
    return "\n\n".join(parts)


for place in COMMANDS:
    module = import_module(f"parkade.cli.{place}")
    command = getattr(module, place.rpartition(".")[2])
    text = _help(command.__doc__, module.EXAMPLES, getattr(module, "FILE", ""))
    app.command(cls=getattr(module, "COMMAND", None), help=text)(command)


def _version(requested: bool) -> None:
    if requested:
        from parkade import __version__

        print(f"parkade {__version__}")
        raise typer.Exit


@app.callback(help=_help(_TITLE, ["parkade simulate --plot", "parkade simulate --help"]))
def _parkade(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Handle the options that precede a command."""
