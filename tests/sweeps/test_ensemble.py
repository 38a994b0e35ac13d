"""Ensembles: the grid, the measures, and the same bits on any workers."""

from __future__ import annotations

import json
import math
from concurrent.futures import Executor, Future

import numpy as np
import pytest
from support.common import EPS, same_bits

import parkade as pk
from parkade.sweeps import laws
from parkade.sweeps.measures import MEASURES
from parkade.sweeps.versions import versions

SMALL = {"d": 2, "n": 12, "runs": 5, "t_end": 5.0, "times": [0.0, 1.0, 5.0]}


# The grid


def test_swept_parameters_are_dimensions_and_others_are_not():
    ds = pk.ensemble(**SMALL, beta=[1, 4], V=["I", [1, -1]], mask=["causal", "full"], workers=1)
    assert dict(ds.clusters.sizes) == {"beta": 2, "V": 2, "mask": 2, "run": 5, "time": 3}
    assert ds.beta.values.tolist() == [1.0, 4.0]
    assert ds.V.values.tolist() == ["I", "diag(1, -1)"]
    assert ds.mask.values.tolist() == ["causal", "full"]
    assert ds.time.values.tolist() == SMALL["times"]
    assert dict(pk.ensemble(**SMALL).clusters.sizes) == {"run": 5, "time": 3}


def test_every_run_can_be_repeated_by_hand():
    ds = pk.ensemble(
        **SMALL, seed=3, beta=[1.0, 9.0], Q=["I", "gaussian"], measure=("final", "clusters")
    )
    for run in range(5):
        x0 = pk.sphere.uniform(12, 2, laws.generator(3, run, "start"))
        Q = laws.generator(3, run, "Q").standard_normal((2, 2)) / math.sqrt(2)
        for beta in (1.0, 9.0):
            for name, matrix in (("I", 1.0), ("gaussian", Q)):
                model = pk.Attention(2, beta, Q=matrix)
                one = pk.simulate(model, x0, 5.0, times=[0.0, 1.0, 5.0])
                result = ds.sel(beta=beta, Q=name, run=run)
                assert np.array_equal(result.final.values, one.final)
                radius = pk.clusters.default_radius(model)
                labels = [pk.cluster_labels(x, radius) for x in one.tokens]
                assert result.clusters.values.tolist() == [len(set(s.tolist())) for s in labels]
                largest = [np.bincount(s).max() / 12 for s in labels]
                assert result.largest.values.tolist() == largest


def test_shorter_runs_of_a_sweep_are_filled_up_with_nan():
    ds = pk.ensemble(n=[3, 5], d=[2, 3], runs=2, t_end=1.0, times=[1.0], measure="final")
    assert dict(ds.final.sizes) == {"n": 2, "d": 2, "run": 2, "token": 5, "axis": 3}
    there = np.isfinite(ds.final).all("run")
    for n in (3, 5):
        for d in (2, 3):
            expected = (ds.token < n) & (ds.axis < d)
            assert (there.sel(n=n, d=d) == expected).all()


def test_the_model_gives_what_is_not_an_argument():
    model = pk.Attention(2, 9.0, V=[1, -1], mask="full")
    swept = pk.ensemble(model, n=6, runs=2, t_end=1.0, beta=[4.0, 9.0], measure="final")
    plain = pk.ensemble(model, n=6, runs=2, t_end=1.0, measure="final")
    assert np.array_equal(swept.sel(beta=9.0).final, plain.final)
    assert json.loads(plain.attrs["recipe"])["V"] == [1.0, -1.0]
    assert json.loads(plain.attrs["recipe"])["mask"] == "full"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": 3}, r"model must be a parkade model such as pk.Attention, got int"),
        ({"executor": "dask"}, r"executor must be one of 'threads', 'processes', got 'dask'"),
        ({"executor": 4}, r"or a concurrent.futures.Executor, got int"),
        ({"workers": 0}, r"workers must be a whole number ≥ 1, got 0"),
    ],
)
def test_bad_workers_are_refused(arguments, message):
    with pytest.raises(pk.InputError, match=message):
        pk.ensemble(**{**SMALL, **arguments})


# The measures


@pytest.fixture(scope="module")
def everything():
    return pk.ensemble(
        d=2, n=30, runs=3, t_end=150.0, times=[1.0, 150.0], beta=64.0, measure=tuple(MEASURES),
        c=[1.0, 4.0],
    )  # fmt: skip


def test_measures_are_what_the_library_says(everything):
    model = pk.Attention(2, 64.0)
    for i in range(3):
        x0 = pk.sphere.uniform(30, 2, laws.generator(0, i, "start"))
        run = pk.simulate(model, x0, 150.0)
        tree, result = run.merge_tree(), everything.isel(run=i)
        assert np.array_equal(result.arrival, tree.arrivals)
        longest = max(tree.plateaus, key=lambda p: p.lifetime)
        for name, plateau in (("first", tree.plateaus[0]), ("longest", longest)):
            one = result.sel(plateau=name)
            assert float(one.plateau_clusters) == plateau.clusters
            assert (float(one.plateau_start), float(one.plateau_end)) == (
                plateau.start,
                plateau.end,
            )
        assert np.array_equal(result.tokens, run.at([1.0, 150.0]))
        assert np.array_equal(result.final, run.final)
        for c in (1.0, 4.0):
            for kind in ("renyi", "strong"):
                one = result.sel(c=c, kind=kind)
                find = pk.renyi_centers if kind == "renyi" else pk.strong_renyi_centers
                who = find(x0, c / 8)
                assert int(one.centers) == len(who)
                assert np.array_equal(one.consumed, pk.consumption(run, who, 1 / 16, [1.0, 150.0]))
                moved = pk.sphere.distance(run.at([1.0, 150.0])[:, who], x0[who]).mean(axis=1)
                np.testing.assert_allclose(one.displacement, moved, rtol=0, atol=4 * EPS)


def test_only_what_depends_on_the_separation_has_its_dimension(everything):
    assert everything.consumed.dims == ("c", "run", "kind", "time")
    assert everything.clusters.dims == ("run", "time")
    assert everything.arrival.dims == ("run", "token")
    assert everything.tokens.dims == ("run", "time", "token", "axis")


def test_separations_beyond_the_sphere_leave_one_centre():
    ds = pk.ensemble(d=2, n=10, beta=[0.0, 1.0], runs=2, t_end=1.0, measure="centers")
    assert (ds.centers == 1).all()
    ds = pk.ensemble(d=2, n=10, beta=1.0, runs=2, t_end=1.0, measure="centers", delta=1e-9)
    assert (ds.centers == 10).all()


def test_attributes_contain_the_recipe_and_the_versions(everything):
    used = json.loads(everything.attrs["recipe"])
    assert (used["beta"], used["c"], used["measure"]) == (
        64.0,
        [1.0, 4.0],
        list(MEASURES),
    )
    assert json.loads(everything.attrs["versions"]) == versions()
    packages = {"parkade", "python", "numpy", "scipy", "numba"}
    assert set(versions()) == packages | {"llvm", "cpu", "numpy_blas", "scipy_blas"}
    assert everything.clusters.attrs["long_name"] == "number of clusters, by links"
    assert float(everything.cluster_radius) == pk.clusters.default_radius(pk.Attention(2, 64.0))


def test_untrusted_runs_give_a_warning():
    x0 = pk.sphere.from_angles([0.0, 2.0])
    with pytest.warns(pk.TrustWarning, match=r"in 2 of 2 runs rounding, not the model"):
        ds = pk.ensemble(start=x0, beta=100.0, mask="full", runs=2, t_end=1e40, measure="final")
    assert (ds.trusted_until < 1e40).all()


# The same bits


class Backwards(Executor):
    """Runs its tasks when the first result is requested, the last task first."""

    def __init__(self):
        self.tasks = []

    def submit(self, function, /, *args, **kwargs):
        self.tasks.append((Future(), function, args))
        if len(self.tasks) == 10:
            for future, call, arguments in reversed(self.tasks):
                future.set_result(call(*arguments))
        return self.tasks[-1][0]


def test_same_bits_on_any_workers_in_any_order():
    options = {"beta": [1.0, 64.0], "start": ["uniform", ("mixture", 2, 0.3)], "seed": 5}
    options |= {"K": "gaussian", "measure": ("final", "clusters", "consumption"), "batch": 2}
    reference = pk.ensemble(**SMALL, **options, workers=1)
    assert same_bits(pk.ensemble(**SMALL, **options, workers=3), reference)
    assert same_bits(pk.ensemble(**SMALL, **options, executor="processes", workers=2), reference)
    assert same_bits(pk.ensemble(**SMALL, **options, executor=Backwards()), reference)


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_without_a_store_no_file_is_written(monkeypatch, tmp_path, executor):
    """Not even a temporary one: results are bits of memory, of which no netCDF file is made."""
    whole = pk.ensemble(**SMALL, batch=2, store=tmp_path / "store")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))
    monkeypatch.setattr("parkade.base.files.atomic_write", None)
    monkeypatch.setattr("parkade.sweeps.netcdf.encode", None)
    assert same_bits(pk.ensemble(**SMALL, batch=2, executor=executor, workers=1), whole)


def test_batches_of_another_size_hold_the_same_numbers():
    one = pk.ensemble(**SMALL, measure="final", batch=1)
    other = pk.ensemble(**SMALL, measure="final", batch=4)
    assert one.final.equals(other.final)
    assert not np.array_equal(one.final, pk.ensemble(**SMALL, measure="final", seed=1).final)


def test_a_run_that_fails_is_named_and_leaves_the_others_alone(tmp_path, monkeypatch):
    real = laws.draw_start

    def draw(value, n, d, rng):
        x = real(value, n, d, rng)
        if np.array_equal(x, real(value, n, d, laws.generator(0, 3, "start"))):
            raise pk.ParkadeError("the steps became too short")
        return x

    monkeypatch.setattr("parkade.sweeps.laws.draw_start", draw)
    with pytest.raises(
        pk.ParkadeError, match=r"simulation run=3 failed: the steps.*; 4 of 5 batch"
    ):
        pk.ensemble(**SMALL, store=tmp_path, batch=1)
    monkeypatch.undo()
    pk.ensemble(**SMALL, store=tmp_path, batch=1)
