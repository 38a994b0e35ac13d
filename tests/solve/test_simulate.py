from __future__ import annotations

import contextlib
import os
import signal

import numpy as np
import pytest
from support.common import EPS, random_model, worst

import parkade as pk
from parkade.engine.system import SMALL_D
from parkade.solve import simulate as module
from parkade.solve import solver as solving
from parkade.solve.compiled import base as compiled
from parkade.solve.options import Hooks, Options
from parkade.solve.solver import Solver

X0 = pk.sphere.uniform(12, 3, seed=1)
MODEL = random_model(3, beta=4.0, seed=1)
# V rotates the tokens forever, at no cost in memory: a run that only an interrupt can end.
ENDLESS = pk.Attention(V=[[0.0, -1.0], [1.0, 0.0]])

simulations = pytest.mark.parametrize(
    "simulate",
    [pk.simulate, lambda model, x, *args, **kwargs: pk.simulate_many(model, [x], *args, **kwargs)],
    ids=["simulate", "simulate_many"],
)


# --- what is refused ---------------------------------------------------------------------


@simulations
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"t_end": 0}, r"t_end must be > 0, got 0"),
        ({"t_end": -1}, r"t_end must be > 0, got -1"),
        ({"t_end": np.inf}, r"t_end must be finite, got inf"),
        ({"t_end": [1, 2]}, r"t_end must be one number, got an array of shape \(2,\)"),
        ({"tol": 0}, r"tol must be > 0, got 0"),
        ({"tol": 1e-14}, r"tol must lie in \[1e-13, 0\.01\], got 1e-14"),
        ({"tol": 0.1}, r"tol must lie in \[1e-13, 0\.01\], got 0\.1"),
        ({"method": "euler"}, r"method must be one of 'auto', 'explicit'.*, got 'euler'"),
        ({"times": "all"}, r"times must be one of 'steps', 'final', got 'all'"),
        ({"times": []}, r"times must be a non-empty 1-D array, got shape \(0,\)"),
        ({"times": 1.0}, r"times must be a non-empty 1-D array, got shape \(\)"),
        ({"times": [1.0, 0.5]}, r"times must not decrease; pass numpy\.sort\(times\)"),
        ({"times": [0.0, 9.0]}, r"lie in \[0, t_end=2\], got 0 … 9; raise t_end"),
        ({"times": [-1.0, 1.0]}, r"lie in \[0, t_end=2\], got -1 … 1"),
        ({"frozen": [[2.0, 0.0, 0.0]]}, r"frozen must be unit vectors, but row 0 has norm 2"),
        ({"frozen": [[1.0, 0.0]]}, r"frozen must have d=3 columns .* got shape \(1, 2\)"),
        (
            {"frozen_weights": [1.0]},
            r"each of the 0 frozen tokens, got shape \(1,\)",
        ),
        ({"frozen": X0[:2], "frozen_weights": [1.0]}, r"each of the 2 frozen .* shape \(1,\)"),
        ({"frozen": X0[:1], "frozen_weights": [0.0]}, r"frozen_weights must be > 0"),
        ({"frozen": X0[:1], "frozen_weights": [np.nan]}, r"frozen_weights must be finite"),
    ],
)
def test_settings_are_checked(simulate, options, message):
    with pytest.raises(pk.InputError, match=message):
        simulate(MODEL, X0, **{"t_end": 2.0} | options)


def test_tokens_are_checked():
    off = X0.copy()
    off[5] *= 1.5
    with pytest.raises(pk.InputError, match=r"tokens must be .* row 5 has norm 1\.5 .*normalize"):
        pk.simulate(MODEL, off, 1.0)
    with pytest.raises(pk.InputError, match=r"tokens\[1\] must be .* row 5 has norm 1\.5"):
        pk.simulate_many(MODEL, [X0, off], 1.0)
    with pytest.raises(pk.InputError, match=r"d=3 columns like the model, got shape \(2, 2\)"):
        pk.simulate(MODEL, np.eye(2), 1.0)


@simulations
def test_the_model_is_checked(simulate):
    with pytest.raises(
        pk.InputError, match=r"model must be a parkade model such as pk\.Attention, got dict"
    ):
        simulate({"d": 3}, X0, 1.0)


def test_threads_are_checked():
    with pytest.raises(pk.InputError, match=r"threads must be a whole number ≥ 1, got 0"):
        pk.simulate_many(MODEL, [X0], 1.0, threads=0)


@simulations
def test_too_many_times_for_the_memory(simulate, little_memory):
    with pytest.raises(pk.InputError, match=r"saving 100 times of 12 tokens .*save fewer times"):
        simulate(MODEL, X0, 1.0, times=np.linspace(0, 1, 100))


@simulations
def test_too_many_steps_for_the_memory(simulate, little_memory):
    message = r"saving every step up to t=.*pass times='final' or an array of times to save less"
    with pytest.raises(pk.InputError, match=message):
        simulate(MODEL, X0, 20.0, times="steps")


# --- what is stored ------------------------------------------------------------------------


def test_times_agree_with_dense_output():
    dense = pk.simulate(MODEL, X0, 5.0)
    assert dense.times[0] == 0
    assert dense.times[-1] == 5.0
    assert np.all(np.diff(dense.times) > 0)
    assert worst(dense.tokens[0], X0) <= 2 * EPS  # renormalised
    times = np.array([0.0, 0.0, 0.1, 0.10001, 2.5, 2.5, dense.times[3], 5.0, 5.0])
    times.sort()
    run = pk.simulate(MODEL, X0, 5.0, times=times)
    assert np.array_equal(run.times, times)
    # The same numbers, interpolated one by one instead of all together.
    assert worst(run.tokens, dense.at(times)) <= 4 * EPS
    assert np.array_equal(run.tokens[0], dense.tokens[0])
    assert np.array_equal(run.final, dense.final)


@pytest.mark.parametrize("count", [1, 1000])
def test_times_may_be_denser_or_sparser_than_steps(count):
    times = np.linspace(1.0, 4.0, count)
    run = pk.simulate(MODEL, X0, 5.0, times=times)
    assert run.tokens.shape == (count, 12, 3)
    assert worst(run.tokens, pk.simulate(MODEL, X0, 5.0).at(times)) <= 4 * EPS


@pytest.mark.parametrize("mask", ["causal", "full"])
@pytest.mark.parametrize("method", ["explicit", "implicit"])
def test_steps_do_not_depend_on_the_chunks(monkeypatch, mask, method):
    model, x0 = pk.Attention(d=3, beta=9.0, mask=mask), pk.sphere.uniform(12, 3, seed=1)
    run = pk.simulate(model, x0, 30.0, method=method)
    monkeypatch.setattr("parkade.solve.integrate._CHUNK_STEPS", 7)
    monkeypatch.setattr("parkade.solve.integrate._FEW_STEPS", 2)
    again = pk.simulate(model, x0, 30.0, method=method)
    assert np.array_equal(run.times, again.times)
    assert np.array_equal(run.tokens, again.tokens)


def test_long_chunks_become_short(monkeypatch):
    """A request to stop does not wait for hundreds of steps that take longer than estimated."""
    monkeypatch.setattr("parkade.solve.integrate._CHUNK_SECONDS", 1e-9)
    reports = []
    solver = Solver(pk.Attention(d=2), Options(30.0, method="explicit"))
    run = solver.run(pk.sphere.uniform(5, 2, seed=1), Hooks(reports.append))
    assert len(reports) >= run.stats.steps - 1


def test_final_keeps_the_end_only():
    run = pk.simulate(MODEL, X0, 5.0, times="final")
    assert run.times.tolist() == [5.0]
    assert np.array_equal(run.final, pk.simulate(MODEL, X0, 5.0).final)


def test_the_input_is_left_alone():
    before = X0.copy()
    run = pk.simulate(MODEL, X0, 2.0)
    run.tokens[:] = 7
    assert np.array_equal(X0, before)


def test_the_same_call_gives_the_same_bits():
    first, second = (pk.simulate(MODEL, X0, 5.0) for _ in range(2))
    assert np.array_equal(first.tokens, second.tokens)


@pytest.mark.parametrize("d", [3, 8])
def test_threads_within_a_velocity_do_not_change_bits(d, monkeypatch):
    model, x0 = random_model(d, 4.0, seed=d), pk.sphere.uniform(300, d, seed=2)
    runs = []
    for seconds in (0.0, np.inf):  # always several threads, never
        monkeypatch.setattr(compiled, "PARALLEL_SECONDS", seconds)
        runs.append(pk.simulate(model, x0, 1.0, method="explicit"))
    assert np.array_equal(runs[0].tokens, runs[1].tokens)


# --- many runs ---------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2, 3, None])
@pytest.mark.parametrize("d", [3, 8])
def test_many_runs_are_the_single_ones(d, threads):
    model = random_model(d, 4.0, seed=d)
    # Different lengths, so that they do not finish in order.
    starts = [pk.sphere.uniform(n, d, seed=n) for n in (40, 3, 17, 1, 25)]
    runs = pk.simulate_many(model, starts, 3.0, times="steps", threads=threads)
    for start, run in zip(starts, runs, strict=True):
        alone = pk.simulate(model, start, 3.0)
        assert np.array_equal(run.times, alone.times)
        assert np.array_equal(run.tokens, alone.tokens)


def test_many_runs_keep_the_end_by_default():
    (run,) = pk.simulate_many(MODEL, X0[None], 3.0)
    assert run.times.tolist() == [3.0]


def test_no_runs_at_all():
    assert pk.simulate_many(MODEL, [], 1.0) == []


def test_many_runs_report_the_error_that_stopped_them(monkeypatch):
    def keep(times, x0, *others):
        if len(x0) == 5:
            raise pk.InputError("five is too many")
        return recorder(times, x0, *others)

    recorder = solving.recorder
    monkeypatch.setattr(solving, "recorder", keep)
    # The first run never ends by itself. It is cancelled, which must not hide the error.
    starts = [np.eye(2), pk.sphere.uniform(5, 2, seed=1)]
    with pytest.raises(pk.InputError, match="five is too many"):
        pk.simulate_many(ENDLESS, starts, 1e12, threads=2, method="explicit")


# --- interrupts and progress -------------------------------------------------------------


@simulations
@pytest.mark.parametrize("how", ["raise", "signal"])
def test_an_interrupt_stops_the_run_at_the_next_report(simulate, how, monkeypatch):
    reports = []

    def report(fraction):
        reports.append(fraction)
        if len(reports) == 3:
            if how == "raise":
                raise KeyboardInterrupt
            os.kill(os.getpid(), signal.SIGINT)  # what Ctrl-C does

    @contextlib.contextmanager
    def bar(label, **options):
        yield report

    monkeypatch.setattr(module, "bar", bar)
    with pytest.raises(KeyboardInterrupt):
        simulate(ENDLESS, np.eye(2), 1e12, times="final", method="explicit")
    # Another thread may run a few more chunks of 50 ms before it is notified.
    assert len(reports) < 200
    assert all(0 < fraction < 1e-3 for fraction in reports)


@simulations
def test_progress_goes_to_standard_error_only(simulate, capfd, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # otherwise rich draws no bar into a pipe
    simulate(MODEL, X0, 2.0)  # compile, so that there is no message about it below
    capfd.readouterr()
    simulate(MODEL, X0, 2.0)
    assert capfd.readouterr() == ("", "")
    simulate(MODEL, X0, 2.0, progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "simulating" in err


def test_progress_rises_to_one(monkeypatch):
    reports = []

    @contextlib.contextmanager
    def bar(label, **options):
        yield reports.append

    monkeypatch.setattr(module, "bar", bar)
    pk.simulate(ENDLESS, np.eye(2), 2000.0, times="final", method="explicit")
    assert len(reports) > 2
    assert reports == sorted(reports)
    assert reports[-1] == 1.0


# --- edges -------------------------------------------------------------------------------


@pytest.mark.parametrize("mask", ["causal", "full"])
@pytest.mark.parametrize("d", [2, 3, 8])
def test_tokens_at_one_point_do_not_move(d, mask):
    x0 = np.repeat(pk.sphere.uniform(1, d, seed=3), 5, axis=0)
    run = pk.simulate(pk.Attention(d, 9.0, mask=mask), x0, 1e3)
    # Differences are exactly zero for small d. Matrix products leave rounding errors, which
    # an adaptive method may let grow up to its tolerance.
    assert worst(run.tokens, x0) <= (4 * EPS if d < SMALL_D else 10 * run.stats.tol)


@pytest.mark.parametrize("mask", ["causal", "full"])
def test_an_antipodal_pair_does_not_move(mask):
    x0 = np.array([[1.0, 0.0], [-1.0, 0.0]])
    run = pk.simulate(pk.Attention(2, 1.0, mask=mask), x0, 1e3)
    assert np.array_equal(run.final, x0)


def test_one_token_alone_rests_under_the_identity():
    x0 = pk.sphere.uniform(1, 3, seed=4)
    assert np.array_equal(pk.simulate(pk.Attention(3), x0, 1e6).final, x0)


def test_a_very_short_run():
    run = pk.simulate(MODEL, X0, 1e-12)
    assert run.times[-1] == 1e-12
    # To first order; the second-order term is 1e-24.
    assert worst(run.final, X0 + 1e-12 * MODEL.velocity(X0)) <= 8 * EPS


def test_blas_gets_its_threads_back_when_the_last_run_ends():
    from threadpoolctl import threadpool_info

    from parkade.engine.compile.threads import single_threaded_blas

    def counts():
        return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]

    single_threaded_blas().__enter__()  # loads the libraries
    single_threaded_blas().__exit__()
    before = counts()
    with single_threaded_blas():
        with single_threaded_blas():
            assert set(counts()) == {1}
        assert set(counts()) == {1}, "another run is still inside"
    assert counts() == before


@pytest.mark.parametrize("method", ["explicit", "implicit"])
@pytest.mark.parametrize("mask", ["causal", "full"])
def test_without_values_nothing_moves(method, mask):
    x0 = pk.sphere.uniform(5, 3, seed=1)
    run = pk.simulate(pk.Attention(d=3, V=0.0, mask=mask), x0, 1e6, method=method)
    assert worst(run.final, x0) <= 4 * EPS
