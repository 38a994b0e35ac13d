"""Runs that would take too long, that do, and that are cancelled."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest
from support.common import until
from support.explorer import ENDLESS

from parkade.explorer import Limits, Settings
from parkade.explorer.scenes.compute import compute_run, compute_scene, solver_within
from parkade.explorer.server import memory
from parkade.explorer.server.run_queue import RunQueue
from parkade.explorer.settings.limits import CancelledError, LimitedRecorder, TooLongError
from parkade.explorer.settings.schema import FieldError
from parkade.solve.planning import plan as planning


def test_endless_work_is_foreseen():
    with pytest.raises(FieldError, match=r"about 3e\+59 steps of 300 tokens") as caught:
        compute_scene(Settings(n=300, mask="full", T=1e60), Limits(), print, lambda: False)
    assert caught.value.field == "T"
    longest = float(str(caught.value).split()[-1])
    solver_within(Limits(), Settings(n=300, mask="full", T=0.9 * longest))
    solver_within(Limits(), Settings(n=300, T=1e60))  # long, and few steps


def test_a_run_is_planned_once(monkeypatch):
    plans = []

    def counted(problem, n, choose=planning.choose):
        plans.append(n)
        return choose(problem, n)

    monkeypatch.setattr(planning, "choose", counted)
    compute_run(Settings(n=20, d=2, T=10, frozen="strong"), Limits(), print, lambda: False)
    assert len(plans) == 1


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        (Limits(token_steps=500), "stopped at 500 steps of single tokens, at t="),
        (Limits(memory=2**16), "stopped at 0.0625 MiB of steps, at t="),
        (Limits(seconds=0), "stopped after 0 s, at t="),
    ],
)
def test_limits_on_the_way(limits, sentence):
    chosen = Settings(n=20, d=2, beta=64, T=1e4)
    with pytest.raises(TooLongError, match="choose a smaller T or n") as caught:
        compute_scene(chosen, limits, lambda fraction: None, lambda: False)
    assert sentence in str(caught.value)


def test_analysis_can_be_cancelled():
    chosen = Settings(n=20, d=2, T=10)
    done = [False]

    def report(fraction):
        done[0] = fraction == 1

    looks = []

    def cancelled():
        # The simulation has ended and been asked about; the third look is the analysis.
        looks.append(done[0])
        return sum(looks) > 3

    with pytest.raises(CancelledError):
        compute_scene(chosen, Limits(), report, cancelled)


def test_a_run_that_waits_for_others_has_its_time(monkeypatch):
    """The limit is of CPU time: here each look at a clock on the wall is an hour later."""
    hours = iter(range(0, 10**9, 3600))
    monkeypatch.setattr("time.monotonic", lambda: float(next(hours)))
    recorder = LimitedRecorder(Settings(n=4, d=2).start, Limits(), lambda: False)
    for _ in range(3):
        recorder.checkpoint()


@pytest.fixture
def recorders(monkeypatch):
    """The recorders of a test that still exist, each with the steps of a run.

    Nobody looks for garbage meanwhile, nor do queues of other tests: what is in cycles stays.
    """
    made, begin = weakref.WeakSet(), LimitedRecorder.__init__

    def noted(recorder, *values):
        made.add(recorder)
        begin(recorder, *values)

    monkeypatch.setattr(LimitedRecorder, "__init__", noted)
    monkeypatch.setattr(memory, "give_back", lambda: None)
    gc.disable()
    yield made
    gc.enable()


def test_runs_that_end_early_leave_no_steps(recorders):
    """Not even while another run is under way, with no time to look for garbage."""
    stop = threading.Event()
    queue = RunQueue(threads=2)
    queue.submit(lambda report, cancelled: stop.wait())
    try:
        for limits, error in [(Limits(memory=2**16), TooLongError), (Limits(), CancelledError)]:
            begun = threading.Event()

            def call(report, cancelled, limits=limits, begun=begun):
                def reported(fraction):
                    begun.set()
                    report(fraction)

                return compute_run(Settings(**ENDLESS), limits, reported, cancelled)

            task = queue.submit(call)
            if error is CancelledError:
                assert begun.wait(240)
                task.cancel()
            assert isinstance(task.future.exception(), error)
            until(lambda: not recorders)  # the thread may still be on its way out
    finally:
        stop.set()
        queue.close()
