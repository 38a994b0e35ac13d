"""The scene that the page shows first, computed before: a new machine has to compile first.

To make it again, after a change of what scenes contain: ``python -m parkade.explorer.first``.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from parkade.explorer.compute import compute_scene
from parkade.explorer.limits import Limits
from parkade.explorer.settings import Settings

FILE = Path(__file__).parent / "page" / "first.json.gz"


def first_scene() -> dict[str, Any]:
    """The scene of the settings that the page begins with."""
    return compute_scene(Settings(), Limits(), lambda fraction: None, lambda: False)


if __name__ == "__main__":
    text = json.dumps(first_scene(), allow_nan=False)
    FILE.write_bytes(gzip.compress(text.encode(), mtime=0))
