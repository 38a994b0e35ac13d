"""Build the engines for pages: WebAssembly from the source that native code is compiled from.

    python packaging/wasm/build.py               all engines, into the explorer
    python packaging/wasm/build.py explicit2     some of them
    python packaging/wasm/build.py --check       build them elsewhere, and compare bit for bit

The same source and tools give the same bits on any machine. `engines.json`, beside the engines,
records what they were made from. They are part of the repository, so that everybody has them.
"""

from __future__ import annotations

import argparse
import ast
import gzip
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from link import link

from parkade.engine.compile.sources import digest_of_code
from parkade.explorer.settings.rules import DIMENSIONS
from parkade.explorer.standalone.shared import METHODS

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ENGINES = ROOT / "src" / "parkade" / "explorer" / "engines"
RECORD = "engines.json"

NAMES = (
    *(f"{method}{d}" for d in DIMENSIONS for method in ("explicit", "implicit")),
    *(f"{method}field" for method in METHODS),
    *("plan", "fieldplan", "scene"),
)
EXTRA = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
TOOLS = {"python": "3.11", **dict(tool.split("==") for tool in EXTRA["wasm"])}
"""The versions that give these bits: Python's decides which bytecode Numba compiles."""

LARGEST = 124_000
"""The largest size of a compressed engine in bytes. A quarter is there to let tokens rest."""


def shared_sources(own: list[Path], library: Path) -> list[Path]:
    """Files of the library, outside of its engine, from which files of this folder import."""
    names = {"analysis.merging"}  # `standalone/shared.py` takes a number from it
    for path in own:
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("parkade."):
                module = node.module.removeprefix("parkade.")
                names |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    files = (library.joinpath(*name.split(".")).with_suffix(".py") for name in names)
    return sorted(f for f in files if f.exists() and f.relative_to(library).parts[0] != "engine")


def digest_of_sources() -> str:
    """A digest of all our sources of the engines; comments and docstrings do not count.

    The bytecode depends on the version of Python, which must be that of `TOOLS`.
    """
    library = ROOT / "src" / "parkade"
    own = [path for path in sorted(HERE.rglob("*.py")) if path.name != "build.py"]
    paths = [*sorted((library / "engine").rglob("*.py")), *own, *shared_sources(own, library)]
    code = digest_of_code((str(path.relative_to(ROOT)), path.read_bytes()) for path in paths)
    digest = hashlib.sha256(code.encode())
    for path in sorted([*HERE.rglob("*.c"), *HERE.rglob("*.zig")]):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def other_tools(*needed: str) -> list[str]:
    """The needed tools that are missing or have another version."""
    there = {"python": ".".join(map(str, sys.version_info[:2]))}
    for tool in needed:
        with suppress(PackageNotFoundError):
            there.setdefault(tool, version(tool))
    return [
        f"{tool} {there.get(tool, 'missing')}" for tool in needed if there.get(tool) != TOOLS[tool]
    ]


def compile_engine(name: str) -> tuple[bytes, list[str]]:
    """Compile an engine; return its object file and the names of its functions."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "engine.o")
        command = [sys.executable, str(HERE / "compile.py"), name, str(out)]
        # Settings of the user for native code must not count, nor the order of Python's sets:
        # Numba writes both into names.
        env = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
        env["PYTHONHASHSEED"] = "0"
        done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True)
        return out.read_bytes(), done.stdout.split()


def build(names: list[str], folder: Path) -> None:
    """Build engines into a folder, and record there what they were made from."""
    wrong = other_tools(*TOOLS)
    if wrong:
        exact = ", ".join(f"{tool} {number}" for tool, number in TOOLS.items())
        sys.exit(f"the engines need {exact}; got {', '.join(wrong)}; run make wasm")
    record = folder / RECORD
    known = json.loads(record.read_text())["engines"] if record.exists() else {}
    for name in names:
        compiled, exported = compile_engine(name)
        made = link(compiled, exported)
        small = len(gzip.compress(made, 9))
        if small > LARGEST:
            sys.exit(f"{name} has {small} bytes compressed, and may have {LARGEST}; export less")
        (folder / f"{name}.wasm").write_bytes(made)
        known[name] = {"object": sha(compiled), "wasm": sha(made)}
        print(f"{name}: {len(made)} bytes, {small} compressed")
    in_order = {name: known[name] for name in NAMES if name in known}
    made_from = {"sources": digest_of_sources(), "tools": TOOLS, "engines": in_order}
    record.write_text(json.dumps(made_from, indent=2) + "\n")


def check(names: list[str]) -> None:
    """Build engines elsewhere, and report those that differ from the explorer's."""
    with tempfile.TemporaryDirectory() as folder:
        build(names, Path(folder))
        files = [f"{name}.wasm" for name in names]
        other = [
            file
            for file in files
            if (ENGINES / file).read_bytes() != Path(folder, file).read_bytes()
        ]
    if other:
        sys.exit(f"{', '.join(other)}: not what the source compiles to; run make wasm")
    print("the engines are what the source compiles to")


def sha(data: bytes) -> str:
    """The SHA-256 digest of data in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Build the engines for pages.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(NAMES)}; or all")
    parser.add_argument("--check", action="store_true", help="compare with the explorer's engines")
    arguments = parser.parse_args()
    if not set(arguments.names) <= set(NAMES):
        parser.error(f"engines are {', '.join(NAMES)}; got {' '.join(arguments.names)}")
    if arguments.check:
        check(arguments.names or list(NAMES))
    else:
        ENGINES.mkdir(exist_ok=True)
        build(arguments.names or list(NAMES), ENGINES)
