"""What packaging and the scripts of a page share with Python: public names, and data."""

from __future__ import annotations

import ast

import pytest
from support.builder import BUILDER

from parkade.explorer.settings.rules import PARTS
from parkade.explorer.settings.settings import Settings

FILES = sorted(BUILDER.parent.rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(BUILDER.parent)))
def test_packaging_imports_public_names_only(file):
    imports = [
        node
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and not node.module.startswith("numba")
    ]
    private = [
        f"{node.module}.{alias.name}"
        for node in imports
        for alias in node.names
        if any(part.startswith("_") for part in f"{node.module}.{alias.name}".split("."))
        and node.module != "__future__"
    ]
    assert private == []


def test_plain_models_are_those_of_the_settings():
    assert all(getattr(Settings, name) in plain for name, plain in PARTS.items())
    assert Settings().model.plain
    assert not Settings(noise=0.1).model.plain
