"""Run a command beside a load of twice the cores: python tests/load.py COMMAND [ARGUMENT ...].

Twice as many processes as there are cores compute without a pause until the command ends.
"""

from __future__ import annotations

import os
import subprocess
import sys

from parkade.engine.compile.threads import cores

# Ends with its parent, however that ends: nobody has to remember to stop it.
BUSY = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
while os.getppid() == int(sys.argv[1]):
    sum(range(10**6))
"""


def main(command: list[str]) -> None:
    """Start the load, and become the command, which is its parent then."""
    for _ in range(2 * cores()):
        subprocess.Popen([sys.executable, "-c", BUSY, str(os.getpid())])
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
