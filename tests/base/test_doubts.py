"""Warnings of doubtful runs, suppressed in one thread and heard of in others."""

from __future__ import annotations

import threading
import warnings

import parkade as pk
from parkade.base.errors import doubts_do_not_matter

START = pk.sphere.uniform(20, 2, seed=3)


def doubtful():
    """How many warnings a run gives whose end is not to be trusted."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pk.simulate(pk.Attention(d=2, beta=64.0, mask="full"), START, 1e13)
    return len(caught)


def test_doubts_matter_by_default():
    assert doubtful() == 1
    with doubts_do_not_matter():
        assert doubtful() == 0
    assert doubtful() == 1


def test_another_thread_that_leaves_such_a_block_changes_nothing():
    inside, left = threading.Event(), threading.Event()

    def work():
        with doubts_do_not_matter():
            inside.set()
            left.wait(60)

    other = threading.Thread(target=work)
    other.start()
    assert inside.wait(60)
    assert doubtful() == 1
    with doubts_do_not_matter():
        left.set()
        other.join()
        assert doubtful() == 0
