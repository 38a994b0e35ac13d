"""All commands and their help.

One file per command. Slow imports are inside the commands, so that `parkade --help` is fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from parkade.cli.bench import EXAMPLES as EXAMPLES_BENCH
from parkade.cli.bench import bench
from parkade.cli.explore import EXAMPLES as EXAMPLES_EXPLORE
from parkade.cli.explore import explore
from parkade.cli.export import EXAMPLES as EXAMPLES_EXPORT
from parkade.cli.export import export
from parkade.cli.reproduce import EXAMPLES as EXAMPLES_REPRODUCE
from parkade.cli.reproduce import reproduce
from parkade.cli.simulate import EXAMPLES as EXAMPLES_SIMULATE
from parkade.cli.simulate import Simulate, simulate
from parkade.cli.sweep import EXAMPLES as EXAMPLES_SWEEP
from parkade.cli.sweep import FILE as FILE_SWEEP
from parkade.cli.sweep import sweep
from parkade.cli.timeline import EXAMPLES as EXAMPLES_TIMELINE
from parkade.cli.timeline import timeline
from parkade.cli.trained import EXAMPLES as EXAMPLES_TRAINED
from parkade.cli.trained import trained
from parkade.cli.verify import EXAMPLES as EXAMPLES_VERIFY
from parkade.cli.verify import verify
from parkade.cli.warmup import EXAMPLES as EXAMPLES_WARMUP
from parkade.cli.warmup import warmup

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


app.command(cls=Simulate, help=_help(simulate.__doc__, EXAMPLES_SIMULATE))(simulate)
app.command(help=_help(timeline.__doc__, EXAMPLES_TIMELINE))(timeline)
app.command(help=_help(explore.__doc__, EXAMPLES_EXPLORE))(explore)
app.command(help=_help(export.__doc__, EXAMPLES_EXPORT))(export)
app.command(help=_help(sweep.__doc__, EXAMPLES_SWEEP, FILE_SWEEP))(sweep)
app.command(help=_help(reproduce.__doc__, EXAMPLES_REPRODUCE))(reproduce)
app.command(help=_help(verify.__doc__, EXAMPLES_VERIFY))(verify)
app.command(help=_help(trained.__doc__, EXAMPLES_TRAINED))(trained)
app.command(help=_help(bench.__doc__, EXAMPLES_BENCH))(bench)
app.command(help=_help(warmup.__doc__, EXAMPLES_WARMUP))(warmup)


def _version(asked: bool) -> None:
    if asked:
        from parkade import __version__

        print(f"parkade {__version__}")
        raise typer.Exit


@app.callback(help=_help(_TITLE, ["parkade simulate --plot", "parkade simulate --help"]))
def _parkade(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Handle the options before a command."""
