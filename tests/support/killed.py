"""A sweep that is killed in a process that has compiled its engine, after the first batch.

`tests/compile.py` compiles it anyway, and leaves the store beside the code: `test_kills` finishes
a copy of it. Implicit steps with direct sums: for these, code once depended on what was loaded
before. So the one that compiles has called functions that the engine is made of.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import sys

from parkade.engine import jit

SETTINGS = {
    "d": 2, "n": 40, "beta": [9.0], "runs": 4, "batch": 2, "t_end": 1e6, "sums": "direct",
    "times": [0.0, 1.0, 1e6], "measure": ["final"],
}  # fmt: skip
TEXT = "".join(f"{name} = {json.dumps(value)}\n" for name, value in SETTINGS.items())
FILE = jit.private_directory() / "killed.toml"
SAID = FILE.with_suffix(".txt")


def leave():
    """Sweep in a fork, which has the code in memory that was compiled here, until it is killed."""
    import netCDF4

    from parkade.cli.sweep import read_recipe
    from parkade.sweeps.store import Store

    shutil.rmtree(FILE.with_suffix(""), ignore_errors=True)
    FILE.write_text(TEXT)
    child = os.fork()
    if child == 0:
        try:
            _sweep_and_die()
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL, SAID.read_text()
    store = Store(FILE.with_suffix(""), read_recipe(FILE))
    (batch,) = store.done()
    with netCDF4.Dataset(store.file(batch)) as opened:
        return hashlib.sha256(opened["final"][:].tobytes()).hexdigest()[:16]


def _sweep_and_die():
    from parkade.cli import main
    from parkade.sweeps.store import Store

    write = Store.write

    def write_and_die(*batch):
        write(*batch)
        os.kill(os.getpid(), signal.SIGKILL)

    Store.write = write_and_die
    with SAID.open("wb") as said:  # not the terminal, whose cursor would stay hidden
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
    sys.argv = ["parkade", "sweep", str(FILE), "--workers", "1"]
    main()
