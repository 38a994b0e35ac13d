"""The measure `forecast`: what the library says, in memory and from a store."""

import numpy as np

import parkade as pk
from parkade.sweeps import laws

OPTIONS = {"d": 2, "runs": 3, "t_end": 1e9, "times": [1e9], "measure": ["forecast", "merges"]}


def test_the_forecast_is_what_the_library_says(tmp_path):
    store = tmp_path / "store"
    ds = pk.ensemble(**OPTIONS, n=[1, 25], beta=16.0, store=store)
    assert ds.forecast_arrival.dims == ("n", "run", "token")
    assert ds.forecast_right.dims == ds.forecast_error.dims == ("n", "run")
    for i in range(3):
        x0 = pk.sphere.uniform(25, 2, laws.generator(0, i, "start"))
        run = pk.simulate(pk.Attention(2, 16.0), x0, 1e9)
        tree = pk.theory.forecast(x0, 16.0)
        agreed = pk.clusters.agreement(tree, run.merge_tree())
        result = ds.isel(run=i).sel(n=25)
        np.testing.assert_array_equal(result.forecast_arrival, tree.arrivals)
        np.testing.assert_array_equal(result.arrival, run.merge_tree().arrivals)
        assert float(result.forecast_right) == agreed.right.mean()
        assert float(result.forecast_error) == agreed.error < 0.1
    alone = ds.sel(n=1)  # the others of its 25 places are empty
    assert np.isinf(alone.forecast_arrival[:, 0]).all()
    assert np.isnan(alone.forecast_arrival[:, 1:]).all()
    assert np.isnan(alone.forecast_right).all()
    assert np.isnan(alone.forecast_error).all()
    assert pk.load_ensemble(store).identical(ds)


def test_what_cannot_be_forecast_is_nan():
    ds = pk.ensemble(**OPTIONS | {"t_end": 200.0, "times": [1.0]}, n=8, mask=["causal", "full"])
    for name in ("forecast_arrival", "forecast_right", "forecast_error"):
        assert np.isnan(ds[name].sel(mask="full")).all()
    assert not np.isnan(ds.forecast_arrival.sel(mask="causal")).any()
    assert np.isfinite(ds.arrival.sel(mask="full")).any()
