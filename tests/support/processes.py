"""Runs in forks, spawned processes and threads; `test_forks.py` starts a process for them.

A scenario yields the results of its runs. All must agree bit for bit.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import parkade as pk


def run(d=2):
    """A hash of a run that is large enough to use all cores."""
    start = pk.sphere.uniform(1000 if d == 2 else 600, d, seed=1)
    final = pk.simulate(pk.Attention(d, beta=4.0), start, 0.01, method="explicit", sums="direct")
    return hashlib.sha256(final.tokens.tobytes()).hexdigest()


def in_fork(function):
    """The string that `function` returns in a child made by `os.fork`."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(send, function().encode())
        finally:
            os._exit(0)
    os.close(send)
    with open(receive, encoding="utf-8") as file:
        said = file.read()
    os.waitpid(child, 0)
    return said


def in_pool(method):
    """Four runs by workers; forked ones share what they inherit, others have nothing in common."""
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2 if method == "fork" else 1, mp_context=context) as pool:
        return [future.result() for future in [pool.submit(run) for _ in range(4)]]


def forked():
    yield run()
    yield in_fork(run)
    yield in_fork(lambda: in_fork(run))
    yield run()


def pools():
    yield run()
    for method in ("fork", "forkserver"):
        yield from in_pool(method)


def threads():
    yield run()
    with ThreadPoolExecutor(4) as pool:
        yield from [future.result() for future in [pool.submit(run) for _ in range(10)]]


def pools_in_threads():
    yield run()
    with ThreadPoolExecutor(3) as pool:
        methods = ("fork", "fork", "spawn", "fork")
        for future in [pool.submit(in_pool, method) for method in methods]:
            yield from future.result()


def while_running(d=2):
    yield run(d)
    ended = threading.Event()

    def keep_running():
        while not ended.is_set():
            run(d)

    with ThreadPoolExecutor(2) as pool:
        for _ in range(2):
            pool.submit(keep_running)
        for _ in range(6):
            yield in_fork(lambda: run(d))
        ended.set()


def many_at_once():
    yield run()
    with ThreadPoolExecutor(4) as pool:
        children = [pool.submit(in_fork, run) for _ in range(12)]
        for future in [*children, *(pool.submit(run) for _ in range(4))]:
            yield future.result()


def while_running_with_blas():
    yield from while_running(8)


def while_compiling():
    import numba

    import parkade.engine.compile.jit  # noqa: F401

    def compile_something():
        @numba.njit
        def add(x, y):
            return x + y

        return str(add(1.5, 3))

    yield compile_something()
    with ThreadPoolExecutor(2) as pool:
        others = [pool.submit(compile_something) for _ in range(8)]
        for _ in range(3):
            yield in_fork(compile_something)
        yield from [future.result() for future in others]


def while_locked():
    """A thread takes locks in the opposite order to a fork."""
    from parkade.base import forks
    from parkade.plots import style
    from parkade.solve import warmup
    from parkade.sweeps import netcdf

    assert {warmup._warming, style._LOCK, netcdf._LOCK} <= set(forks._locks)
    held = threading.Event()

    def hold():
        with netcdf._LOCK:
            held.set()
            time.sleep(0.2)
            with style.context(), warmup._warming:
                time.sleep(0.2)

    def take():
        taken = [each for each in locks if each.acquire(blocking=False)]
        for each in taken:
            each.release()
        return [each in taken for each in locks]

    def free():
        # From another thread: the locks are reentrant for the one that forked.
        with ThreadPoolExecutor(1) as pool:
            return str(pool.submit(take).result())

    locks = (warmup._warming, style._LOCK, netcdf._LOCK)
    yield str([True] * 3)
    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    yield in_fork(free)
    thread.join()
    yield free()


def blas_threads():
    """A child regains the BLAS threads that another thread of its parent has limited."""
    from threadpoolctl import threadpool_info

    from parkade.engine.compile.threads import single_threaded_blas

    def count():
        return str(
            [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
        )

    def stay():
        with single_threaded_blas():
            inside.set()
            leave.wait()

    run(8)  # loads BLAS
    inside, leave = threading.Event(), threading.Event()
    yield count()
    thread = threading.Thread(target=stay)
    thread.start()
    inside.wait()
    limited = count()
    yield in_fork(count)
    with single_threaded_blas():
        assert in_fork(count) == limited  # the forking thread is inside the block in both
        leave.set()
        thread.join()
        assert count() == limited
    yield count()


SCENARIOS = {
    function.__name__: function
    for function in (
        forked,
        pools,
        threads,
        pools_in_threads,
        while_running,
        many_at_once,
        while_running_with_blas,
        while_compiling,
        while_locked,
        blas_threads,
    )
}

if __name__ == "__main__":
    for name, scenario in SCENARIOS.items():
        for line in scenario():
            print(f"{name}: {line}", flush=True)
