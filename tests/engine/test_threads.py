"""Work shared out to threads: all of it is done, in order where that matters, and errors show."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from parkade.engine import threads


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
def test_a_shared_call_that_fails_is_heard_of(count):
    def fail(i):
        if i == 3:
            raise ValueError("call 3 fails")

    with pytest.raises(ValueError, match="call 3 fails"):
        threads.share_out(((fail, i) for i in range(5)), count)
