"""Runs that cannot finish raise an error; the part so far can be kept."""

from __future__ import annotations

import itertools
import os
import pty
import subprocess
import sys
import time

import numpy as np
import pytest

import parkade as pk
from parkade.base import progress
from parkade.solve.options import Hooks, Options, Problem
from parkade.solve.planning import pace
from parkade.solve.planning.pace import Effort, Pace, foresee
from parkade.solve.planning.plan import choose
from parkade.solve.solver import Solver

SKEW = np.array([[0, -0.3, 0.5], [0.3, 0, -0.7], [-0.5, 0.7, 0]])
RESTLESS = pk.Attention(V=SKEW, beta=1.0)  # tokens circle each other forever
X0 = pk.sphere.uniform(10, 3, seed=1)


def test_a_run_that_never_settles_ends_with_one_sentence(monkeypatch):
    monkeypatch.setattr(pace, "SECONDS", 0.2)
    with pytest.raises(pk.UnfinishedError) as error:
        pk.simulate(RESTLESS, X0, 1e9)
    sentence = str(error.value)
    for word in ("t=1e+09", "steps it is at t=", "hours", "partial=True", "max_steps"):
        assert word in sentence
    assert len(sentence) < 400


@pytest.mark.parametrize("times", ["steps", "final", [0.0, 1.0, 1e7]])
def test_the_part_so_far_can_be_kept(times):
    run = pk.simulate(RESTLESS, X0, 1e8, times=times, partial=True, max_steps=500)
    assert run.stats.steps == 500
    assert "max_steps=500" in run.stats.stopped
    assert 1 < run.times[-1] < 1e8
    whole = pk.simulate(RESTLESS, X0, float(run.times[-1]), method="implicit")
    assert pk.sphere.distance(run.final, whole.final).max() < 1e-4
    if not isinstance(times, str):
        assert run.times[:-1].tolist() == [0.0, 1.0]
        assert len(run.tokens) == 3


def test_a_run_that_finishes_is_not_stopped():
    run = pk.simulate(RESTLESS, X0, 10.0, max_steps=10_000)
    assert run.stats.stopped == ""
    assert run.times[-1] == 10.0


def test_many_runs_have_the_same_limits():
    with pytest.raises(pk.UnfinishedError, match="reached max_steps=50 at"):
        pk.simulate_many(RESTLESS, [X0, X0[:5]], 1e8, max_steps=50)
    runs = pk.simulate_many(RESTLESS, [X0, X0[:5]], 1e8, max_steps=50, partial=True)
    assert [run.stats.steps for run in runs] == [50, 50]


def test_explicit_steps_that_are_too_short_give_way_to_implicit_ones(monkeypatch):
    """The token rests where two forces balance: explicit steps are limited by 1/(β|KᵀQ||V|)."""
    monkeypatch.setattr(pace, "SECONDS", 0.0)
    monkeypatch.setattr(pace, "LONG", 0.0)
    model = pk.Attention(d=2, beta=1e6, K=-1.0)
    x0, frozen = pk.sphere.from_angles([1.5]), pk.sphere.from_angles([0.0, 2.0])
    run = pk.simulate(model, x0, 20.0, frozen=frozen)
    assert run.stats.method == "implicit"
    assert "too short" in run.stats.reason
    assert pk.sphere.distance(run.final, pk.sphere.from_angles([1.0])).max() < 1e-5
    with pytest.raises(pk.UnfinishedError):
        pk.simulate(model, x0, 20.0, frozen=frozen, method="explicit")


@pytest.mark.parametrize("method", ["explicit", "implicit"])
def test_a_steady_pace_is_enough(method, monkeypatch):
    monkeypatch.setattr(pace, "SECONDS", 0.0)
    monkeypatch.setattr(pace, "LONG", 0.0)
    effort = Effort(1e-3)
    steady = Pace(method, 1e60, 1e-6, effort)
    for steps in range(100, 60_000, 100):  # a hundred steps per decade
        t = 10.0 ** (steps / 1000)
        assert steady.judge(steps, t) == ""
    stuck = Pace(method, 1e60, 1e-6, effort)
    sentences = [stuck.judge(steps, 1e3 * steps) for steps in range(100, 60_000, 100)]
    assert not any(sentences[:10])
    assert any("too slow to reach" in text for text in sentences)


def _rotated(V):
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=V.shape))[0]
    return Q @ V @ Q.T


@pytest.mark.parametrize(
    ("V", "reason"),
    [
        (
            _rotated(np.eye(3) + np.diag([1.0, 1.0], 1)),
            "is 1 and (nearly) defective",
        ),
        (np.array([[-1.0, 1.0], [0.0, -1.0]]), "is -1 and (nearly) defective"),
        (SKEW, "are a complex pair with ω=0.91, so tokens may rotate forever"),
    ],
)
def test_the_sentence_says_what_is_known_of_the_model(V, reason, monkeypatch):
    monkeypatch.setattr(pace, "SECONDS", 0.1)
    with pytest.raises(pk.UnfinishedError) as error:
        pk.simulate(pk.Attention(V=V, beta=2.0), pk.sphere.uniform(6, len(V), seed=2), 1e30)
    assert reason in str(error.value)


COMPLEX_BLOCK = np.kron(np.eye(2), [[1.0, -2.0], [2.0, 1.0]]) + np.diag([1.0, 1.0], 2)


@pytest.mark.parametrize("V", [COMPLEX_BLOCK, _rotated(COMPLEX_BLOCK)])
@pytest.mark.parametrize("method", ["auto", "implicit"])
def test_a_complex_jordan_block_is_named(V, method, monkeypatch):
    monkeypatch.setattr(pace, "SECONDS", 0.02)
    with pytest.raises(pk.UnfinishedError) as error:
        pk.simulate(pk.Attention(V=V), pk.sphere.uniform(6, 4, seed=2), 1e12, method=method)
    assert "a complex pair with ω=2 and (nearly) defective, a Jordan block" in str(error.value)
    assert "use a smaller t_end" in str(error.value)


# --- slow steps --------------------------------------------------------------------------

_V = np.random.default_rng(1).normal(size=(11, 11)) / np.sqrt(11)
_SLOW = pk.Attention(V=_V, beta=1e4, mask="full")  # its leading eigenvalues are 0.9 ± 0.28i


def _verdict(model, n, t_end, speed, **options):
    """After which foreseen seconds a run with steps of equal length is stopped."""
    problem = Problem.of(model, Options(t_end, method="implicit", **options))
    effort = foresee(choose(problem, n), problem, n)
    watch, steps = Pace("implicit", t_end, 1e-6, effort), 0
    while steps < 10_000:
        steps += int(watch.room(steps))
        if watch.judge(steps, speed * steps):
            break
    return steps * effort.seconds


def test_slow_steps_that_turn_forever_are_stopped_after_few():
    """400 s of implicit steps were taken, where some seconds show that there is no end."""
    assert _verdict(_SLOW, 59, 1e6, 0.2) < 10.0
    assert _verdict(_SLOW, 59, 1e6, 50.0) > 400.0  # as long as few steps may be enough
    still = pk.Attention(d=11, beta=1e4, mask="full")  # tokens may come to rest
    assert _verdict(still, 59, 1e6, 0.2) > 400.0
    assert _verdict(_SLOW, 59, 1e6, 0.2, frozen=np.eye(11)) > 400.0


def test_a_run_that_turns_forever_is_judged_by_a_few_steps(monkeypatch):
    monkeypatch.setattr(pace, "SECONDS", 0.0)
    model = pk.Attention(V=SKEW + np.eye(3), Q=np.diag([1.0, 2.0, 3.0]), beta=1.0)
    run = pk.simulate(model, X0, 1e9, method="implicit", partial=True)
    assert "complex pair" in run.stats.stopped
    assert run.stats.steps < 1000
    # One that has an end is not stopped.
    assert pk.simulate(model, X0, 100.0, method="implicit").stats.steps > run.stats.steps


def test_progress_of_turns_is_by_time_and_not_by_decades():
    model = pk.Attention(V=SKEW + np.eye(3), Q=np.diag([1.0, 2.0, 3.0]), beta=1.0)
    done = []
    solver = Solver(model, Options(1e6, method="implicit", max_steps=500, partial=True))
    run = solver.run(X0, Hooks(done.append))
    assert done[-1] == pytest.approx(run.times[-1] / 1e6)


def test_steps_of_many_seconds_are_announced(monkeypatch):
    said = []
    monkeypatch.setattr(progress, "PATIENCE", 1e-9)
    token = progress.tell.set(said.append)
    try:
        full = pk.Attention(d=3, beta=1.0, mask="full")
        pk.simulate(full, X0, 1.0, method="implicit", max_steps=1, partial=True)
        pk.simulate(full, X0, 1.0, method="explicit", max_steps=1, partial=True)
    finally:
        progress.tell.reset(token)
    implicit, explicit = (text for text in said if "each step takes about" in text)
    assert "n·(d−1)=20 coordinates" in implicit
    assert "method='explicit'" in implicit
    assert "fewer tokens" in explicit


@pytest.mark.parametrize("seconds", [0.0, 1e4])
def test_a_machine_that_is_paused_or_busy_decides_nothing(seconds, monkeypatch):
    """A run of 3 million steps of 5 µs is let go on, whatever the clock shows meanwhile."""
    clock = itertools.count(0.0, seconds)
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    watch = Pace("explicit", 3e6, 1e-6, Effort(5e-6))
    assert not any(watch.judge(steps, float(steps)) for steps in range(256, 3_000_000, 256))
    slow = Pace("explicit", 3e6, 1e-6, Effort(5e-4))
    assert any(slow.judge(steps, float(steps)) for steps in range(256, 100_000, 256))


def test_looks_are_after_the_same_steps_however_many_are_taken_at_once():
    """So the verdict is the same, although a busy machine takes fewer steps at once."""
    sentences = []
    for most in (1, 7, 100, 256):
        watch, steps, sentence = Pace("explicit", 1e9, 1e-6, Effort(1e-3)), 0, ""
        while not sentence:
            steps += int(min(most, watch.room(steps)))
            sentence = watch.judge(steps, float(steps) ** 1.1)
        sentences.append(sentence)
    assert len(set(sentences)) == 1


def test_steps_too_short_to_change_the_time_are_stuck():
    watch = Pace("explicit", 2e20, 1e-6, Effort(1e-3))
    watch.begin(0, (1e20, 2e20))
    sentences = [watch.judge(steps, 1e20) for steps in range(256, 10_000, 256)]
    assert "infinitely many steps" in next(filter(None, sentences))


@pytest.mark.parametrize("kappa", [1e-3, 1e-2])
def test_steps_that_noise_keeps_short_are_foreseen(kappa):
    """The longest step is known, so a run is refused after the first steps."""
    model = pk.Transformer([], d=3, noise=pk.Noise(kappa))
    with pytest.raises(pk.UnfinishedError, match="noise does not allow longer steps") as error:
        pk.simulate(model, X0, 1e4, seed=1)
    assert int(str(error.value).split("after ")[1].split(" steps")[0]) <= 16
    run = pk.simulate(model, X0, 1e4, seed=1, partial=True)
    assert 0 < run.times[-1] < 1e4


def test_no_step_is_taken_twice_or_lost_at_the_limit():
    few = pk.simulate(RESTLESS, X0, 50.0, max_steps=37, partial=True, method="implicit")
    many = pk.simulate(RESTLESS, X0, 50.0, method="implicit")
    np.testing.assert_array_equal(few.times, many.times[:38])
    np.testing.assert_allclose(few.tokens, many.tokens[:38], atol=1e-13)


WAITING = """
import parkade as pk, parkade.base.progress as progress
progress.PATIENCE = 0.05
x0 = pk.sphere.uniform(10, 3, seed=1)
V = [[0, -0.3, 0.5], [0.3, 0, -0.7], [-0.5, 0.7, 0]]
pk.simulate(pk.Attention(V=V, beta=1.0), x0, 1e8, max_steps=5_000, partial=True)
"""


def test_a_run_of_minutes_says_more_than_once_how_far_it_is(monkeypatch, capsys):
    """Anywhere after a minute, and then after two, four, eight."""
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    with progress.bar("", show=False, remind=True) as report:
        for now in np.arange(0.0, 600.0, 0.5):
            report(now / 1e5)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4
    assert "still running, 0.06% done after 60 s; progress=True" in lines[0]


@pytest.mark.parametrize("terminal", [True, False])
def test_a_long_run_without_a_bar_says_once_that_it_is_still_running(terminal):
    ours, theirs = pty.openpty() if terminal else os.pipe()
    child = subprocess.Popen([sys.executable, "-c", WAITING], stderr=theirs)
    os.close(theirs)
    said = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # the terminal is closed
            break
        if not part:
            break
        said += part
    os.close(ours)
    assert child.wait() == 0
    assert said.count(b"still running") == terminal
    assert said.count(b"progress=True") == terminal
