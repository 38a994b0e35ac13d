"""Files .safetensors: the length of a header, the header in JSON, and numbers."""

from __future__ import annotations

import json
from pathlib import Path

from parkade.base import check
from parkade.trained.formats.source import Stored, mapped, stored

_LONGEST = 100_000_000  # bytes of a header, as the format says


def read(path: Path) -> dict[str, Stored]:
    """The tensors of a file, by name; none is read yet."""
    memory = mapped(path)
    if len(memory) < 8:
        raise ValueError("it is shorter than 8 bytes")
    size = int.from_bytes(memory[:8].tobytes(), "little")
    if size > min(_LONGEST, len(memory) - 8):
        raise ValueError(f"its header claims {size} bytes")
    header = json.loads(memory[8 : 8 + size].tobytes())
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        first = 8 + size
        if type(begin) is not int or type(end) is not int or begin < 0:
            raise ValueError(f"the place of {name[:60]} is {check.brief([begin, end])}")
        shape = tuple(entry["shape"])
        tensors[name] = stored(memory, entry["dtype"], shape, first + begin, first + end)
    return tensors
