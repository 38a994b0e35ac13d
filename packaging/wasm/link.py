"""Turn the object file of an engine into a WebAssembly module, with the tools of `ziglang`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

MEMORY = 2**29
"""The largest memory of an engine in bytes: beyond that it reports that its memory is full."""

_STACK = 2**18
_RUNTIME = Path(__file__).with_name("runtime.c")

# Functions of musl, because those of browsers differ from each other in the last bits. `ziglang`
# has most of them in translation, and some as the original.
_TRANSLATED = Path(__file__).with_name("math.zig")
_HEADERS = "src/include", "src/internal", "arch/generic"
_MATH = (
    *("pow", "pow_data", "exp_data", "erf"),
    *(f"__math_{case}" for case in ("divzero", "invalid", "oflow", "uflow", "xflow")),
)

_COMPILER = "cc", "-target", "wasm32-wasi", "-O2", "-mbulk-memory", "-c"
_TRANSLATOR = "build-obj", "-target", "wasm32-freestanding", "-O", "ReleaseFast", "-fstrip"
_LINKER = (
    *("wasm-ld", "--no-entry", "--gc-sections", "--strip-all", "--fatal-warnings"),
    *("-z", f"stack-size={_STACK}", f"--max-memory={MEMORY}"),
)


def link(engine: bytes, exported: list[str]) -> bytes:
    """Link an engine with its runtime. It imports nothing: the linker rejects undefined symbols."""
    import ziglang

    library = Path(ziglang.__file__).parent / "lib"
    musl = library / "libc" / "musl"
    headers = [f"-I{musl / part}" for part in _HEADERS]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "engine.o").write_bytes(engine)
        _zig(place, *_COMPILER, "-Wall", "-Werror", str(_RUNTIME))
        for path in (_TRANSLATED, library / "compiler_rt.zig"):
            _zig(place, *_TRANSLATOR, "-fno-compiler-rt", "--name", path.stem, str(path))
        for name in _MATH:
            _zig(place, *_COMPILER, "-w", *headers, str(musl / "src" / "math" / f"{name}.c"))
        objects = sorted(path.name for path in place.glob("*.o"))
        exports = [f"--export={name}" for name in exported]
        _zig(place, *_LINKER, *exports, *objects, "-o", "engine.wasm")
        return (place / "engine.wasm").read_bytes()


def _zig(place: Path, *command: str) -> None:
    cache = {f"ZIG_{kind}_CACHE_DIR": str(place / "cache") for kind in ("GLOBAL", "LOCAL")}
    full = [sys.executable, "-m", "ziglang", *command]
    subprocess.run(full, cwd=place, env={**os.environ, **cache}, check=True)
