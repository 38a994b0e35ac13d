"""Work shared out to threads: all of it is done, in order where that matters, and errors show."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from parkade.engine.compile import threads


@pytest.mark.parametrize("count", [1, 2, 3, 9])
def test_a_pipeline_keeps_the_order(count):
    seen, lock = [], threading.Lock()
    pause = np.random.default_rng(0).uniform(0, 1e-3, (4, 6))

    def advance(stage, block):
        time.sleep(pause[stage, block])
        with lock:
            assert block == 0 or (stage, block - 1) in seen
            assert stage == 0 or (stage - 1, block) in seen
            seen.append((stage, block))

    threads.pipeline(advance, 4, 6, count)
    assert sorted(seen) == [(stage, block) for stage in range(4) for block in range(6)]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_pipeline_that_breaks_does_not_hang(count):
    def advance(stage, block):
        if (stage, block) == (1, 2):
            raise ValueError("stage 1 fails")

    with pytest.raises(ValueError, match="stage 1 fails"):
        threads.pipeline(advance, 4, 5, count)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_shared_calls_are_all_made(count):
    seen = []
    threads.share_out(((seen.append, i) for i in range(20)), count)
    assert sorted(seen) == list(range(20))


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("error", [ValueError, IndexError])
def test_a_shared_call_that_fails_is_heard_of(count, error):
    def fail(i):
        if i == 3:
            raise error("call 3 fails")

    with pytest.raises(error, match="call 3 fails"):
        threads.share_out(((fail, i) for i in range(5)), count)


def test_as_many_threads_as_asked_for_work_at_once():
    """Each of three calls waits for the two others."""
    meeting = threading.Barrier(3, timeout=60)
    threads.share_out(((meeting.wait,) for _ in range(3)), 3)


def test_shared_calls_may_share_out_in_turn():
    """All threads are busy with the outer calls, so the inner ones have no help."""
    seen, meeting = [], threading.Barrier(2, timeout=60)

    def inner(i):
        meeting.wait()
        threads.share_out(((seen.append, 10 * i + j) for j in range(5)), 2)

    threads.share_out(((inner, i) for i in range(2)), 2)
    assert sorted(seen) == [*range(5), *range(10, 15)]
