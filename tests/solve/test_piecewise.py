"""Several models in one run: what is stored, limits, stats, trust, and all that takes a run."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import numpy as np
import pytest
from support.common import random_model, worst
from support.drift import drifting

import parkade as pk
from parkade import plots
from parkade.engine.flow import linear_time
from parkade.solve.options import Hooks, Options
from parkade.solve.planning import pace
from parkade.solve.solver import Solver

X0 = pk.sphere.uniform(12, 2, seed=1)
MODEL = pk.Attention(d=2)
SCHEDULE = pk.Schedule([0, 3, 20, 100], [4, 1, 16, 64])
GROWING = pk.Scheduled(MODEL, SCHEDULE)
ROTATION = [[1, -1], [1, 1]]
SKEW = np.array([[0, -0.3, 0.5], [0.3, 0, -0.7], [-0.5, 0.7, 0]])


def scheduled(t_end=200.0, **options):
    return pk.simulate(MODEL, X0, t_end, schedule=SCHEDULE, **options)


# --- any models --------------------------------------------------------------------------


def one_by_one(layers, x0, t_end, **options):
    """The final tokens of plain runs, each from the end of the one before."""
    for start, end, model in layers.pieces(t_end):
        x0 = pk.simulate(model, x0, end - start, **options).final
    return x0


@pytest.mark.parametrize("method", ["explicit", "implicit"])
@pytest.mark.parametrize(
    "models",
    [
        [random_model(2, 4.0, seed=s) for s in range(3)],
        [pk.Attention(V=ROTATION, beta=4.0), pk.Attention(d=2, beta=9.0)],
        [pk.Attention(V=ROTATION, beta=4.0), pk.Attention(V=ROTATION, Q=2.0, beta=9.0)],
        [pk.Attention(d=2, beta=4.0), drifting(), pk.Attention(d=2, V=-1.0, beta=4.0)],
        [pk.Attention(d=2, beta=4.0, mask="full"), pk.Attention(d=2, beta=9.0)],
    ],
)
def test_layers_are_runs_one_after_the_other(models, method):
    layers = pk.Layers(4.0 * np.arange(len(models)), models)
    options = {"method": method, "tol": 1e-9}
    run = pk.simulate(layers, X0[:6], 13.0, **options)
    assert worst(run.final, one_by_one(layers, X0[:6], 13.0, **options)) < 1e-7
    # Dense output is right in every piece, also in a frame that rotates.
    halfway = one_by_one(layers, X0[:6], 6.0, **options)
    assert worst(run.at(6.0), halfway) < 1e-6
    assert run.model is layers


def test_a_function_of_time_gets_the_time_of_the_run():
    def turn(t, x):
        return 2 * t * np.stack([-x[:, 1], x[:, 0]], axis=1)

    flow = pk.Flow(turn, 2, causal=True)
    layers = pk.Layers([0, 1, 1.5], [flow, pk.Attention(d=2, V=0.0), flow])
    for method in ("explicit", "implicit"):
        run = pk.simulate(layers, X0[:3], 2.0, method=method, tol=1e-9)
        expected = pk.sphere.angles(X0[:3]) + 1.0 + (4 - 2.25)
        assert worst(run.final, pk.sphere.from_angles(expected)) < 1e-6


def test_a_rotating_frame_is_for_a_rotation_that_never_changes():
    turning, other = pk.Attention(V=ROTATION, beta=4.0), pk.Attention(d=2, beta=4.0)
    same = pk.simulate(turning, X0, 1e6, schedule=pk.Schedule([0, 10], [4, 9]))
    assert same.stats.reason == "long causal run, in a frame that rotates with the tokens"
    assert same.spin.any()
    assert same.phase_known_until < math.inf
    mixed = pk.simulate(pk.Layers([0, 10], [turning, other]), X0, 1e6)
    assert (mixed.stats.method, mixed.stats.reason) == ("implicit", "long causal run")
    assert not mixed.spin.any()


def test_one_method_for_all():
    """A model that would have explicit steps by itself goes along with an implicit one."""
    naive, many = drifting(), pk.sphere.uniform(450, 2, seed=1)
    both = pk.Layers([0, 1], [pk.Attention(d=2, beta=9.0), naive])
    assert pk.simulate(both, X0, 400.0).stats.method == "implicit"
    assert pk.simulate(both, X0, 30.0).stats.method == "explicit"
    plan = Solver(both, Options(1e6)).plan(len(many))
    assert (plan.method, plan.reason) == ("explicit", "n·(d−1) > 400: too many finite differences")


def test_frozen_tokens():
    frozen = pk.sphere.from_angles([0.0, 2.0])
    options = {"frozen": frozen, "frozen_weights": [1.0, 3.0], "tol": 1e-9}
    run = scheduled(30.0, **options)
    expected = one_by_one(GROWING, X0, 30.0, **options)
    assert worst(run.final, expected) < 1e-7
    assert np.array_equal(run.frozen, frozen)


# --- what is stored ------------------------------------------------------------------------


def test_what_is_kept():
    steps, final = scheduled(), scheduled(times="final")
    assert steps.times[0] == 0
    assert steps.times[-1] == 200
    assert (np.diff(steps.times) > 0).all()
    assert steps.dense.shape[0] == len(steps.times) - 1
    assert set(SCHEDULE.times) <= set(steps.times)
    assert np.array_equal(final.final, steps.final)
    assert final.times.tolist() == [200]
    times = [0.0, 1.5, 3.0, 3.0, 50.0, 100.0, 150.0]
    some = scheduled(times=times)
    assert some.times.tolist() == times
    assert worst(some.tokens, steps.at(times)) < 1e-15


def test_pieces_after_the_end_do_not_matter():
    run = scheduled(20.0)
    assert run.times[-1] == 20
    shorter = pk.Schedule(SCHEDULE.times[:2], SCHEDULE.beta[:2])
    assert np.array_equal(run.final, pk.simulate(MODEL, X0, 20.0, schedule=shorter).final)


def test_stats():
    run = scheduled()
    assert run.stats.steps == len(run.times) - 1
    assert run.stats.evaluations == 6 * (run.stats.steps + run.stats.rejected)
    assert run.stats.seconds > 0
    assert (run.stats.method, run.stats.sums) == ("explicit", "direct")
    many = pk.simulate(
        MODEL, pk.sphere.uniform(100, 2, seed=1), 50.0, schedule=pk.Schedule([0, 9], [4, 4000])
    )
    assert many.stats.sums == "harmonic and direct"
    assert many.stats.engine == "Fourier sums, 24 modes, then direct sums, tiles"


def test_progress_is_over_the_whole():
    seen = []
    solver = Solver(GROWING, Options(1e6))
    solver.run(X0, Hooks(seen.append))
    assert seen == sorted(seen)
    assert seen[-1] == 1
    assert len(seen) >= 4


def test_many_runs_have_the_same_bits():
    starts = [pk.sphere.uniform(n, 2, seed=n) for n in (5, 12, 30)]
    runs = pk.simulate_many(MODEL, starts, 200.0, schedule=SCHEDULE, threads=2)
    for x0, run in zip(starts, runs, strict=True):
        alone = pk.simulate(MODEL, x0, 200.0, schedule=SCHEDULE)
        assert np.array_equal(run.final, alone.final)


# --- limits ------------------------------------------------------------------------------


@pytest.mark.parametrize("most", range(1, 12))
def test_max_steps_counts_all_pieces(most):
    """Also if the last step ends at a knot."""
    fine = pk.Schedule([0, 1e-3, 2e-3, 3e-3], [4, 4, 5, 4])
    options = {"schedule": fine, "max_steps": most}
    with pytest.raises(pk.UnfinishedError, match=f"reached max_steps={most} at t="):
        pk.simulate(MODEL, X0, 1e6, **options)
    run = pk.simulate(MODEL, X0, 1e6, partial=True, **options)
    assert run.stats.steps == most
    assert 0 < run.times[-1] < 1e6
    assert worst(run.final, run.at(run.times[-1])) == 0


def test_a_stuck_piece_is_judged_by_its_own_end(monkeypatch):
    """Tokens that circle each other until t = 40 do not stop a run that settles afterwards."""
    for name in ("SECONDS", "LONG", "MANY"):
        monkeypatch.setattr(pace, name, 0.0)
    monkeypatch.setattr(pace, "FEW", {"explicit": (20, 20), "implicit": (20, 20)})
    monkeypatch.setattr(pace, "EVERY", 10)
    watch = pace.Pace("implicit", 1e60, 1e-6, pace.Effort(1.0))
    watch.begin(0, (0.0, 40.0))
    assert "too slow to reach t=40" in [watch.judge(s, 0.1 * s) for s in range(10, 60, 10)][-1]
    monkeypatch.setattr(pace, "MANY", 1e4)
    watch = pace.Pace("implicit", 1e60, 1e-6, pace.Effort(1.0))
    watch.begin(0, (0.0, 40.0))
    assert not any(watch.judge(steps, 0.1 * steps) for steps in range(10, 400, 10))
    watch.begin(400, (40.0, 1e60))
    assert not any(watch.judge(400 + s, 40.0 + 2.0**s) for s in range(10, 100, 10))


def test_a_run_that_never_settles_is_stopped(monkeypatch):
    monkeypatch.setattr(pace, "SECONDS", 0.0)
    monkeypatch.setattr(pace, "FEW", {"implicit": (3000, 3000)})
    restless = pk.Attention(V=SKEW, beta=1.0)
    x0 = pk.sphere.uniform(10, 3, seed=1)
    schedule = pk.Schedule([0, 5, 1e7], [1, 2, 1])
    with pytest.raises(pk.UnfinishedError, match=r"too slow to reach t=1e\+07: after"):
        pk.simulate(restless, x0, 1e8, schedule=schedule)


def test_harmonic_sums_are_refused_before_the_run():
    with pytest.raises(pk.InputError, match=r"β\|KᵀQ\| = 0 is too small; use sums='direct'"):
        pk.simulate(MODEL, X0, 1e3, schedule=pk.Schedule([0, 500], [4, 0]), sums="harmonic")


def test_inaccurate_sums_give_way_to_direct_ones(monkeypatch):
    monkeypatch.setattr(linear_time, "error", lambda *arguments: 1.0)
    x0, schedule = pk.sphere.uniform(200, 2, seed=1), pk.Schedule([0, 2], [4, 5])
    run = pk.simulate(MODEL, x0, 5.0, schedule=schedule)
    assert run.stats.sums == "direct"
    assert run.stats.sums_reason.startswith("run again: at t=2 harmonic sums have an error of 1")


def test_trust_goes_on_across_pieces():
    """Constant β in many pieces: the same limits as in one."""
    knots = np.append(0.0, np.geomspace(1.0, 1e11, 20))
    for model, n in (
        (pk.Attention(d=3, V=-1.0, beta=1.0), 10),
        (pk.Attention(d=2, beta=64.0, mask="full"), 20),
    ):
        x0 = pk.sphere.uniform(n, model.d, seed=3)
        same = pk.Schedule(knots, np.full(len(knots), model.beta))
        with pytest.warns(pk.TrustWarning):
            plain = pk.simulate(model, x0, 1e13)
        with pytest.warns(pk.TrustWarning):
            run = pk.simulate(model, x0, 1e13, schedule=same)
        assert run.trusted_until == pytest.approx(plain.trusted_until, rel=1e-3)


# --- everything that takes a run ---------------------------------------------------------


def test_saved_and_loaded(tmp_path):
    run = scheduled()
    run.save(tmp_path / "run.npz")
    back = pk.load(tmp_path / "run.npz")
    assert back.model == run.model
    assert back.model.schedule == SCHEDULE
    assert back.stats == run.stats
    times = [1.0, 3.0, 60.0]
    assert np.array_equal(back.at(times), run.at(times))
    assert np.array_equal(pk.simulate(back.model, X0, 200.0).final, run.final)


def test_a_new_process_knows_the_kinds_in_a_file(tmp_path):
    file = tmp_path / "run.npz"
    scheduled().save(file)
    script = f"import parkade as pk; print(pk.load({str(file)!r}).model.label)"
    said = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", script], capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == "β(t) between 1 and 64, causal mask"


def test_merge_trees_plots_pages_and_datasets():
    run = scheduled(1e6)
    assert run.merge_tree().count(1e6) < 12
    assert plots.caption(run) == "β(t) between 1 and 64, causal mask, n = 12, t = $10^{6}$"
    assert plots.overview(run).axes
    assert "(t) between 1 and 64, causal mask" in run.show().text
    attributes = run.to_xarray().attrs
    assert json.loads(attributes["schedule"])["beta"] == [4, 1, 16, 64]
    assert attributes["method"] == "implicit"


def test_swept(tmp_path):
    models = {"constant": pk.Layers([0], [pk.Attention(d=2, beta=4.0)]), "growing": GROWING}
    results = pk.ensemble(models, n=10, runs=3, t_end=20.0, measure="clusters", store=tmp_path)
    assert list(results.model.values) == ["constant", "growing"]
    assert results.identical(pk.load_ensemble(tmp_path))
