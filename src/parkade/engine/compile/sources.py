"""A name for code: an edit of the code changes it, an edit of comments or docstrings does not."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from types import CodeType
from typing import Any

from parkade.engine.compile import cache as files

DIGITS = 16
"""Hexadecimal digits of a name."""


def read(folder: Path) -> dict[str, bytes]:
    """The sources of a package by their paths in it."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*.py"))
    }


def name_of_code(sources: dict[str, bytes], version: str, shipped: Path) -> str:
    """The name of the machine code of these sources, compiled by a version of Numba.

    Python compiles all of them to find it, which takes a tenth of a second. So a file in the
    directory of that name remembers the sources that were read, comments included. The directory
    is in a cache, or in the folder with the machine code that was `shipped` with the sources.
    """
    whole = hashlib.sha256(version.encode())
    for name, source in sources.items():
        whole.update(name.encode() + b"\0" + source)
    memory = f"{whole.hexdigest()[:DIGITS]}.sources"
    owner = shipped.parent.stat().st_uid
    for place, user in [(shipped, owner), *((place, None) for place in files.places())]:
        for path in place.glob(f"*/{memory}"):
            if files.read(path, user) is not None:
                return path.parent.name
    name = digest_of_code(sources.items(), version)[:DIGITS]
    directory = files.private_directory(name)
    if directory is not None:
        with suppress(OSError):  # the disk is full
            files.write(directory / memory, b"")
    return name


def digest_of_code(sources: Iterable[tuple[str, bytes]], version: str = "") -> str:
    """A digest of what the bytecode of sources says, in the order in which they are given."""
    digest = hashlib.sha256(version.encode())
    for path, source in sources:
        digest.update(path.encode())
        _add(compile(_without_docstrings(source), path, "exec", dont_inherit=True), digest)
    return digest.hexdigest()


def _without_docstrings(source: bytes) -> ast.Module:
    """The syntax tree of a source, in which nothing has a docstring."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            match node.body:
                case [ast.Expr(ast.Constant(str())), *rest]:
                    node.body = rest or [ast.Pass(lineno=1, col_offset=0)]
    return tree


def digest_of_function(function: Callable[..., Any]) -> str:
    """A digest of what the bytecode of a function says."""
    digest = hashlib.sha256()
    _add(function.__code__, digest, function.__doc__)
    return digest.hexdigest()


def _add(code: CodeType, digest: Any, docstring: str | None = None) -> None:
    """Add everything of a code object but its docstring, and the places of its lines in a file."""
    names = (code.co_name, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    digest.update(repr((names, counts)).encode() + code.co_code + code.co_exceptiontable)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _add(constant, digest)
        elif isinstance(constant, frozenset):  # whose order is another one in each process
            digest.update(repr(sorted(map(repr, constant))).encode())
        elif constant is None or constant != docstring:
            digest.update(repr(constant).encode())
