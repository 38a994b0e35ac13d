"""Compile the engines once before the tests, on all cores, not once in each test process.

The processes that compile also note the bits of some runs. `test_bits` compares them with those
of processes that load the code, and `test_kills` goes on with a sweep that one of them began. And
they compile parts of engines that only tests call.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from support import killed
from support.bits import CASES, KEPT
from support.inner import compile_parts

from parkade.solve.warmup import Kind, all_kinds, warm_up_one

LEFT_OUT = {
    *(Kind("implicit", d, "direct", "full") for d in (4, 6, 7)),
    *(Kind("explicit", d, "direct", on_all_cores=True) for d in (4, 5, 6, 7)),
}
"""No test runs these: d = 5, and d = 3 on all cores, have the same code with other loops."""


def families():
    """Engines that have functions in common, the slowest family to compile first.

    A process that has compiled one of a family needs a third less time for the next.
    """
    result = {}
    for kind in all_kinds():
        if kind not in LEFT_OUT:
            result.setdefault((kind.d, kind.parts), []).append(kind)
    result[2, False].append(None)  # what is needed besides engines
    order = [(2, False), (3, False), (8, True), (8, False)]
    return [result.pop(key) for key in order] + list(result.values())


def keep_everything():
    """Compilers make millions of objects, hardly any of them garbage: do not look for it."""
    gc.disable()
    atexit.register(os._exit, 0)  # nor free them one by one


def compile_and_run(family):
    """Compile code unless it is in the cache; return the digests of its cases if it was not.

    Parts of an engine come first: what was compiled before an engine must not change its bits.
    """
    digests = {}
    for kind in family:
        if kind is not None:
            compile_parts(kind)
        if warm_up_one(kind).compiled:
            digests |= {name: case.digest() for name, case in CASES.items() if case.kind == kind}
            if kind == killed.KIND:
                killed.leave(KEPT.parent)
    return digests


if __name__ == "__main__":
    stored = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    with ProcessPoolExecutor(mp_context=get_context("spawn"), initializer=keep_everything) as pool:
        for digests in pool.map(compile_and_run, families()):
            stored |= digests
    KEPT.write_text(json.dumps(stored))
