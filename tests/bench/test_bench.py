"""The benchmarks compare like with like, and run."""

import json
import math

import numpy as np
import pytest
from support import commands

import parkade as pk
from parkade import bench
from parkade.bench import baselines
from parkade.engine.compile import peak
from parkade.engine.flow.velocity import velocity
from parkade.solve.lowering.lower import prepare


@pytest.mark.parametrize(("n", "d", "beta"), [(200, 2, 64.0), (40, 3, 9.0), (150, 64, 8.0)])
def test_baseline_velocity_is_the_same_velocity(n: int, d: int, beta: float) -> None:
    x = np.stack([pk.sphere.uniform(n, d, seed=s) for s in range(3)])
    model = pk.Attention(d, beta)
    theirs = baselines.velocity(x, beta)
    assert np.allclose(theirs, velocity(prepare(model), x), atol=1e-12)
    assert np.allclose(theirs, model.velocity(x), atol=1e-12)


def test_baseline_run_converges_to_the_same_tokens() -> None:
    x0, beta, t_end = pk.sphere.uniform(50, 2, seed=1), 64.0, 2.0
    exact = pk.simulate(pk.Attention(2, beta), x0, t_end, times="final", tol=1e-11).final
    steps = (0.05, 0.0125, 0.003125)
    coarse, middle, fine = (
        float(np.max(pk.sphere.distance(exact, baselines.euler(x0, beta, t_end, step))))
        for step in steps
    )
    assert coarse < 0.1
    # Euler is of first order: a quarter of the step, about a quarter of the error.
    assert coarse / middle == pytest.approx(4, rel=0.4)
    assert middle / fine == pytest.approx(4, rel=0.1)


def test_quick_run_measures_every_case() -> None:
    result = commands.invoke("bench", "--quick", "--json")
    assert result.exit_code == 0, result.exception
    data = json.loads(result.stdout)
    assert data["quick"] is True
    assert [case["case"] for case in data["cases"]] == list(bench.CASES)
    for case in data["cases"]:
        assert math.isfinite(case["ratio"])
        assert case["ratio"] > 0
        assert case["target"] > 1
        assert all(math.isfinite(value) for value in case["details"].values())
    assert data["cases"][1]["details"]["parkade_error_max"] < 1e-4
    assert data["machine"]["numpy"] == np.__version__


def test_table_fits_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    details = {
        "parkade_ns_per_pair": 1.43,
        "baseline_ns_per_pair": 20.0,
        "limit_ns_per_pair": 0.58,
        "share_of_limit": 0.4,
    }
    errors = {"parkade_error_max": 1e-6, "baseline_error_max": 1e-2}
    results = [
        bench.Result("velocity-large-d", "NumPy, system by system", 0.03, 0.002, 25, details),
        bench.Result("run", "NumPy, Euler, step 0.05", 1.25, 0.02, 40, errors),
    ]
    monkeypatch.setattr(bench, "measure", lambda names, quick, progress: results)
    lines = commands.invoke("bench").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[1].split()[-3:] == ["15.0×", "25×", "missed"]
    assert lines[2].split()[-3:] == ["62.5×", "40×", "met"]
    assert "1.43 ns per pair, NumPy 20.0, arithmetic limit 0.58 (40%)" in lines[4]


def test_peak_is_a_plausible_rate() -> None:
    # Between a slow small board and any machine there is.
    assert 1e8 < peak.multiply_adds(1, repetitions=2) < 1e13
