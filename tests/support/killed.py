"""A sweep that is killed in a process that has compiled its engine, after the first batch.

`tests/compile.py` compiles it anyway, and leaves the store beside the code: `test_kills` finishes
a copy of it. Implicit steps with direct sums: for these, code once depended on what was loaded
before. As a script: leave the store in the directory that is named on the command line.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import sys
from pathlib import Path

import parkade
from parkade.solve.warmup import Kind

KIND = Kind("implicit", 2, "direct")
SETTINGS = {
    "d": 2, "n": 40, "beta": [9.0], "runs": 4, "batch": 2, "t_end": 1e6, "sums": "direct",
    "times": [0.0, 1.0, 1e6], "measure": ["final"],
}  # fmt: skip


def file_in(folder):
    """The file of the sweep; its name tells which sources made the store."""
    sources = hashlib.sha256(Path(__file__).read_bytes())
    for path in sorted(Path(parkade.__file__).parent.rglob("*.py")):
        sources.update(path.read_bytes())
    return folder / f"killed-{sources.hexdigest()[:16]}.toml"


def leave(folder):
    """Sweep in a fork, which has the code in memory that was compiled here, until it is killed."""
    file = file_in(folder)
    said = file.with_suffix(".txt")
    shutil.rmtree(file.with_suffix(""), ignore_errors=True)
    child = os.fork()
    if child == 0:
        try:
            file.write_text("".join(f"{k} = {json.dumps(v)}\n" for k, v in SETTINGS.items()))
            _sweep_and_die(file, said)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL, said.read_text()


def _sweep_and_die(file, said):
    from parkade.cli import main
    from parkade.sweeps.store import Store

    write = Store.write

    def write_and_die(*batch):
        write(*batch)
        os.kill(os.getpid(), signal.SIGKILL)

    Store.write = write_and_die
    with said.open("wb") as opened:  # not the terminal, whose cursor would stay hidden
        os.dup2(opened.fileno(), 1)
        os.dup2(opened.fileno(), 2)
    sys.argv = ["parkade", "sweep", str(file), "--workers", "1"]
    main()


if __name__ == "__main__":
    leave(Path(sys.argv[1]))
