"""Install each file of dist/, given as arguments, into a clean environment, and try it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

TRIAL = """
import sys
from pathlib import Path

import parkade as pk

place = Path(pk.__file__)
assert place.is_relative_to(sys.prefix), f"{place} is not what was installed"
run = pk.simulate(pk.Attention(d=2, beta=64.0), pk.sphere.uniform(200, 2, seed=1), 1e60)
assert run.merge_tree().count(1e60) == 1
assert len(run.show().text) > 100_000  # the page and its scripts are there
print(pk.__version__)
"""


def attempt(file: Path) -> str:
    """Install a file, simulate, and ask the command for help; return the version of parkade."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "environment"
        venv.create(home, with_pip=True)
        programs = home / "bin"
        settings = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}

        def run(*command: str | Path) -> str:
            done = subprocess.run(
                command, cwd=folder, env=settings, check=True, stdout=subprocess.PIPE, text=True
            )
            return done.stdout

        run(programs / "python", "-m", "pip", "install", "--quiet", file)
        helped = run(programs / "parkade", "--help")
        assert "simulate" in helped, helped
        return run(programs / "python", "-c", TRIAL).strip()


if __name__ == "__main__":
    files = [Path(name).resolve() for name in sys.argv[1:]]
    kinds = sorted(file.suffix for file in files)
    if kinds != [".gz", ".whl"]:
        sys.exit(f"expected one wheel and one sdist, got {[file.name for file in files]}")
    for file in files:
        version = attempt(file)
        if f"parkade-{version}" not in file.name:
            sys.exit(f"{file.name} contains parkade {version}")
        print(f"{file.name}: installs, simulates, and answers --help")
