"""The same bits, whoever compiled the code, and in whatever order it is loaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from support import bits
from support.bits import CASES, KEPT

NAMES = list(CASES)


def digests(*words, **variables):
    """What another process gets."""
    result = subprocess.run(
        [sys.executable, bits.__file__, *words],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(result.stdout)


def test_whoever_loads_the_code_gets_the_bits_of_whoever_compiled_it():
    """Compiled (`tests/compile.py`), loaded, in another order, and after inner functions."""
    if not KEPT.exists():
        pytest.skip("tests/compile.py notes the bits of the process that compiles")
    compiled = json.loads(KEPT.read_text())
    loaded = digests(*NAMES)
    assert compiled  # of some kinds, if others were compiled before
    assert compiled.items() <= loaded.items()
    for words in (NAMES[::-1], ["preload", *NAMES]):
        assert digests(*words) == loaded


def test_a_process_that_compiles_has_the_bits_of_all_others(tmp_path):
    """All of it, inner functions first: those of explicit steps with direct sums.

    `test_store` has one with implicit steps, which compiles beside inner functions it has loaded.
    """
    name, variables = "explicit-2-direct-causal", {"NUMBA_CACHE_DIR": str(tmp_path)}
    first = digests("preload-few", name, **variables)
    assert any(tmp_path.rglob("explicit.advance-*.nbc"))
    assert digests(name, **variables) == digests(name) == first
