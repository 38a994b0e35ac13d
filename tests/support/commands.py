"""The `parkade` command in the process of a test."""

from __future__ import annotations

from functools import cache
from unittest.mock import patch

import typer
from typer import testing

from parkade.cli import app

_built_once = cache(typer.main.get_command)


def invoke(*args: object, **options: object) -> testing.Result:
    """Run a command and catch what it prints.

    Typer would build all commands anew for each one that is run: most of the time of a refusal.
    """
    with patch.object(testing, "_get_command", _built_once):
        return testing.CliRunner().invoke(app, [str(arg) for arg in args], **options)
