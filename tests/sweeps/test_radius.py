"""The radius of clusters in ensembles: an axis, or that of each model, and always shown."""

import math

import numpy as np
import pytest

import parkade as pk
from parkade import plots
from parkade.sweeps import laws

SMALL = {"d": 2, "n": 20, "runs": 3, "t_end": 20.0, "times": [1.0, 20.0]}
RADII = [0.3, 0.01]


def test_a_list_of_radii_is_an_axis_of_what_depends_on_it(tmp_path):
    measure = ["clusters", "merges", "forecast", "final"]
    ask = {**SMALL, "beta": 9.0, "measure": measure, "cluster_radius": RADII}
    ds = pk.ensemble(**ask, store=tmp_path)
    assert ds.cluster_radius.values.tolist() == RADII
    assert ds.clusters.dims == ds.largest.dims == ("cluster_radius", "run", "time")
    assert ds.arrival.dims == ds.forecast_arrival.dims == ("cluster_radius", "run", "token")
    assert ds.final.dims == ("run", "token", "axis")
    assert pk.load_ensemble(tmp_path).identical(ds)
    assert "cluster_radius" not in pk.load_ensemble(tmp_path, variables=["final"]).coords
    for i in range(SMALL["runs"]):
        x0 = pk.sphere.uniform(20, 2, laws.generator(0, i, "start"))
        run = pk.simulate(pk.Attention(2, 9.0), x0, 20.0)
        for radius in RADII:
            result = ds.sel(run=i, cluster_radius=radius)
            labels = [pk.cluster_labels(x, radius) for x in run.at([1.0, 20.0])]
            assert result.clusters.values.tolist() == [len(np.unique(row)) for row in labels]
            np.testing.assert_array_equal(result.arrival, run.merge_tree(radius).arrivals)
            forecast = pk.clusters.forecast_of(run, radius)
            np.testing.assert_array_equal(result.forecast_arrival, forecast.arrivals)
    one = pk.ensemble(**ask | {"cluster_radius": 0.3})
    assert one.clusters.dims == ("run", "time")
    assert float(one.cluster_radius) == 0.3
    assert one.arrival.identical(ds.arrival.sel(cluster_radius=0.3))


def test_the_radius_of_each_model_is_a_coordinate():
    ds = pk.ensemble(**SMALL, beta=[1.0, 25.0], noise=[1e4, math.inf])
    assert ds.clusters.cluster_radius.dims == ("beta", "noise")
    for beta in (1.0, 25.0):
        plain, noisy = (
            pk.clusters.default_radius(pk.Attention(2, beta, noise=noise)) for noise in (None, 1e4)
        )
        assert ds.cluster_radius.sel(beta=beta).values.tolist() == [noisy, plain]
    drawn = pk.ensemble(**SMALL, beta=[1.0, 25.0], Q="gaussian")
    assert drawn.cluster_radius.dims == ("beta", "run")
    Q = laws.generator(0, 2, "Q").standard_normal((2, 2)) / math.sqrt(2)
    expected = pk.clusters.default_radius(pk.Attention(2, 25.0, Q=Q))
    assert float(drawn.cluster_radius.sel(beta=25.0, run=2)) == expected
    assert "cluster_radius" not in pk.ensemble(**SMALL, measure="final").coords


def test_a_phase_diagram_names_the_radius():
    def label(ds, variable):
        return plots.phase_diagram(ds, variable).figure.axes[1].get_ylabel()

    ds = pk.ensemble(**SMALL, beta=[1.0, 4.0], measure=["clusters", "consumption"])
    assert label(ds, "clusters") == "mean number of clusters\nradius 0.05 to 0.1"
    assert label(ds.sel(kind="renyi"), "consumed") == "consumed fraction"
    swept = pk.ensemble(**SMALL, beta=[1.0, 4.0], cluster_radius=RADII)
    with pytest.raises(pk.InputError, match=r"for example ds\.sel\(cluster_radius=0\.3\)"):
        plots.phase_diagram(swept)
    chosen = swept.sel(cluster_radius=0.01)
    expected = "collapsed fraction (largest cluster)\nradius 0.01"
    assert label(chosen, "largest") == expected
