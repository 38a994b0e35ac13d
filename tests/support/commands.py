"""The `parkade` command in the process of a test, or in one of its own."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from unittest.mock import patch

import typer
from typer import testing

from parkade.cli import app
from support.common import without_patience

_built_once = cache(typer.main.get_command)


def process(*args, **settings):
    """Run a command in a process of its own, as a user does."""
    command = [sys.executable, "-m", "parkade", *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, **settings)
    done.stderr = without_patience(done.stderr)
    return done


def invoke(*args: object, **options: object) -> testing.Result:
    """Run a command and catch what it prints.

    Typer would build all commands anew for each one that is run: most of the time of a refusal.
    """
    with patch.object(testing, "_get_command", _built_once):
        return testing.CliRunner().invoke(app, [str(arg) for arg in args], **options)
