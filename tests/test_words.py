"""Names have one meaning and are plain words, docstrings say something, and folders are small."""

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
CODE = AREAS["src"] | AREAS["packaging"]
VAGUE = {"crew", "desk", "foretold", "found", "given", "kept", "so_many", "told"}
"""Names that say nothing of a value, or nothing to a stranger."""


def nodes(trees):
    """Each node of the syntax trees, with its place."""
    for path, tree in trees.items():
        for node in ast.walk(tree):
            yield f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}", node


def test_class_names_are_unique():
    counts = Counter(node.name for _, node in nodes(CODE) if isinstance(node, ast.ClassDef))
    assert [name for name, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("area", AREAS)
def test_docstrings_have_at_least_four_words(area):
    described = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef
    texts = {p: ast.get_docstring(n) for p, n in nodes(AREAS[area]) if isinstance(n, described)}
    assert {p: text for p, text in texts.items() if text and len(text.split()) < 4} == {}


def defined(node):
    """The name that a node gives to something; empty if it gives none."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
            return name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
    return ""


def test_names_say_what_they_name():
    assert [f"{place}: {defined(n)}" for place, n in nodes(CODE) if defined(n) in VAGUE] == []


def test_folders_have_at_most_20_source_files():
    counts = Counter(
        str(path.parent.relative_to(ROOT))
        for area in ("src", "packaging")
        for path in (ROOT / area).rglob("*")
        if path.suffix in {".py", ".js", ".c", ".zig"}
    )
    assert {folder: count for folder, count in counts.items() if count > 20} == {}
