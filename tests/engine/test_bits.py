"""The same bits, whoever compiled the code, and in whatever order it is loaded."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys

import pytest
from support import bits
from support.bits import CASES, KEPT

NAMES = list(CASES)


@functools.cache
def digests(*words, again=False, **variables):
    """The digests of what another process computes; with `again`, of what one more does."""
    result = subprocess.run(
        [sys.executable, bits.__file__, *words],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(result.stdout)


def test_whoever_loads_the_code_gets_the_bits_of_whoever_compiled_it():
    """Five processes: one that compiles (`tests/compile.py`), two that load, one in another order,
    and one after inner functions.

    `test_kills` has a process that compiles, and is killed, and one that then loads.
    """
    loaded = digests(*NAMES)
    assert digests(*NAMES, again=True) == loaded
    assert digests(*NAMES[::-1]) == loaded
    assert after_inner_functions().items() >= loaded.items()
    if not KEPT.exists():
        pytest.skip("tests/compile.py notes the bits of the process that compiles")
    compiled = json.loads(KEPT.read_text())
    if not compiled:
        pytest.skip("all of this code was compiled before tests/compile.py")
    assert compiled.items() <= loaded.items()


def after_inner_functions():
    """The digests after calls of inner functions, and the number of arrays."""
    return digests("preload", *NAMES, NUMBA_NRT_STATS="1")


def test_every_array_that_compiled_code_makes_is_freed():
    """Functions that do not count references must not get arrays that nobody else refers to."""
    (made, freed), (counted, uncounted) = after_inner_functions()["arrays"]
    assert made > 1000
    assert (made, counted) == (freed, uncounted)
