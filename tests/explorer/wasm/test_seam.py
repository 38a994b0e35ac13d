"""What the library, the builder of engines and the scripts of a page share is declared once."""

from __future__ import annotations

import ast
import re

import pytest
from support.builder import BUILDER

from parkade.explorer.settings.rules import PARTS
from parkade.explorer.settings.settings import Settings
from parkade.explorer.standalone import shared
from parkade.explorer.standalone.bundle import PAGE

FILES = sorted(BUILDER.parent.rglob("*.py"))
SCRIPTS = sorted((PAGE / "compute").glob("*.js"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(BUILDER.parent)))
def test_packaging_imports_public_names_only(file):
    private = [
        f"{node.module}.{alias.name}"
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        and node.module.startswith(("parkade", "runs", "scenes"))
        for alias in node.names
        if any(part.startswith("_") for part in (*node.module.split("."), alias.name))
    ]
    assert private == []


def test_scripts_repeat_no_constant_that_they_get_as_data():
    """A constant of a script has neither the name nor the value of one in the data."""
    data = {name.upper(): value for name, value in _leaves(shared.shared())}
    numbers = {value for value in data.values() if _is_telling(value)}
    repeated = []
    for script in SCRIPTS:
        text = script.read_text(encoding="utf-8")
        for name, value in re.findall(r"^(?:export )?const ([A-Z][A-Z_]+) = ([^;]+);", text, re.M):
            if name in data or (re.fullmatch(r"[\d.e]+", value) and float(value) in numbers):
                repeated.append(f"{script.name}: {name} = {value}")
    assert repeated == []


def _leaves(data):
    """Names and values of nested data."""
    for name, value in data.items():
        if isinstance(value, dict):
            yield from _leaves({str(key): one for key, one in value.items()})
        yield name, value


def _is_telling(value):
    """Whether a number is unlikely to be equal to another one by chance."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 64


def test_plain_models_are_those_of_the_settings():
    assert all(getattr(Settings, name) in plain for name, plain in PARTS.items())
    assert Settings().model.plain
    assert not Settings(noise=0.1).model.plain
