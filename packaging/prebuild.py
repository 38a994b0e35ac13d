"""A build hook: with PARKADE_PREBUILT=1, compile the engines and put them into the wheel."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Prebuild(BuildHookInterface):
    """Compiles all engines into an empty cache, and ships its contents in the wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the machine code to the files of the wheel, and a tag for this platform."""
        if version == "editable" or os.environ.get("PARKADE_PREBUILT") != "1":
            return
        self._folder = tempfile.TemporaryDirectory()
        cache, source = Path(self._folder.name), Path(self.root) / "src"
        subprocess.run(
            [sys.executable, "-m", "parkade", "warmup"],
            env={**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(source)},
            check=True,
        )
        (compiled,) = (cache / "parkade").iterdir()
        for path in sorted(compiled.iterdir()):
            place = f"parkade/engine/prebuilt/{compiled.name}/{path.name}"
            build_data["force_include"][str(path)] = place
        python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"{python}-{python}-{platform}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary cache of machine code."""
        if hasattr(self, "_folder"):
            self._folder.cleanup()
