"""Docstrings say something, and folders are small."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
AREAS = {
    area: {path: ast.parse(path.read_text()) for path in sorted((ROOT / area).rglob("*.py"))}
    for area in ("src", "packaging", "tests")
}


def nodes(trees):
    """Each node of the syntax trees, with its place."""
    for path, tree in trees.items():
        for node in ast.walk(tree):
            yield f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}", node


@pytest.mark.parametrize("area", AREAS)
def test_docstrings_have_at_least_four_words(area):
    described = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef
    texts = {p: ast.get_docstring(n) for p, n in nodes(AREAS[area]) if isinstance(n, described)}
    assert {p: text for p, text in texts.items() if text and len(text.split()) < 4} == {}


def test_folders_have_at_most_20_source_files():
    counts = Counter(
        str(path.parent.relative_to(ROOT))
        for area in ("src", "packaging")
        for path in (ROOT / area).rglob("*")
        if path.suffix in {".py", ".js", ".c", ".zig"}
    )
    assert {folder: count for folder, count in counts.items() if count > 20} == {}
