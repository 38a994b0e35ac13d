"""The whole explorer as a folder of static files, for any host.

It needs no server: a Worker computes, by engines in WebAssembly. To write it into a folder:
``python -m parkade.explorer.standalone.folder page``.
"""

from __future__ import annotations

import gzip
import shutil
import sys
from pathlib import Path

from parkade.base.errors import InputError
from parkade.explorer.scenes import recorded
from parkade.explorer.standalone import contents
from parkade.explorer.standalone.bundle import PAGE, bundle
from parkade.explorer.standalone.export import with_policy

_MARK = 'data-live="folder"'


def write(folder: Path) -> None:
    """Write the files into a folder, which is made anew if it has such files already."""
    if folder.exists():
        _clear(folder)
    text = (PAGE / "index.html").read_text(encoding="utf-8")
    text = text.replace("/static/", "").replace("<html", f"<html {_MARK}", 1)
    text = with_policy(text, "'self'", "'self'", live=True, own="'self' ")
    files = {
        "index.html": text.encode(),
        "main.js": bundle(PAGE / "main.js").encode(),
        **contents.carried(),
        **{f"scenes/{name}.json": gzip.decompress(data) for name, data in _scenes().items()},
    }
    for file in (*PAGE.glob("*.css"), *PAGE.glob("*.svg")):
        files[file.name] = file.read_bytes()
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def _clear(folder: Path) -> None:
    """Remove a folder that is empty, or that `write` has made; raise if it is another one."""
    index = folder / "index.html"
    ours = index.is_file() and _MARK in index.read_text(encoding="utf-8", errors="replace")
    if not ours and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(
            f"the page needs a folder of its own, got {folder}, which has other files; name a new "
            "one"
        )
    shutil.rmtree(folder)


def _scenes() -> dict[str, bytes]:
    return {name: recorded.packed(name) or b"" for name in recorded.SCENES}


if __name__ == "__main__":
    target = Path(sys.argv[1])
    try:
        write(target)
    except InputError as error:
        sys.exit(str(error))
    size = sum(file.stat().st_size for file in target.rglob("*") if file.is_file())
    print(f"wrote    {target}/ ({size / 1e6:.1f} MB): put it on any host, or open it with")
    print(f"         python3 -m http.server --directory {target}")
