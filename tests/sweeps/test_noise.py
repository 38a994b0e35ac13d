"""Noise in ensembles: an axis, seeds of runs, and what workers do not change."""

import math

import numpy as np
import pytest

import parkade as pk
from parkade.base.errors import InputError
from parkade.sweeps.recipe import Recipe

SMALL = {"d": 2, "beta": 4.0, "n": 6, "runs": 4, "t_end": 0.5, "times": [0.0, 0.25, 0.5]}


def test_noise_is_an_axis_and_workers_do_not_matter(tmp_path):
    ask = {**SMALL, "noise": [4.0, 16.0, math.inf], "measure": "trajectory", "batch": 3}
    one = pk.ensemble(**ask, workers=1, store=tmp_path / "store")
    two = pk.ensemble(**ask, workers=2)
    assert one.tokens.sizes["noise"] == 3
    np.testing.assert_array_equal(one.tokens, two.tokens)
    still = pk.ensemble(**SMALL, measure="trajectory", tol=1e-3)
    np.testing.assert_array_equal(one.tokens.sel(noise=math.inf), still.tokens)
    # The same noise at every point: the larger κ, the closer to the run without noise.
    off = np.abs(one.tokens - still.tokens).max(["run", "time", "token", "axis"])
    assert off[0] > off[1] > off[2] == 0.0
    gone = sorted((tmp_path / "store").rglob("*.nc"))[0]
    gone.unlink()
    again = pk.ensemble(**ask, store=tmp_path / "store")
    np.testing.assert_array_equal(again.tokens, one.tokens)


def test_a_run_of_an_ensemble_can_be_repeated():
    result = pk.ensemble(**SMALL | {"times": [0.5]}, noise=4.0, measure="final")
    recipe = Recipe.from_json(result.attrs["recipe"])
    assert recipe.tol == 1e-3
    one = recipe.simulation(2)
    run = pk.simulate(one.model, one.tokens, 0.5, seed=one.seed, times=[0.0, 0.5])
    np.testing.assert_array_equal(result.final.isel(run=2), run.final)


def test_models_with_noise():
    common = pk.Attention(2, 4.0, noise=pk.Noise(4.0, common=True))
    result = pk.ensemble(common, n=4, runs=2, t_end=0.2, measure="final")
    assert np.isfinite(result.final).all()
    plain = pk.ensemble(pk.Attention(2, 4.0, noise=4.0), n=4, runs=2, t_end=0.2, measure="final")
    same = pk.ensemble(d=2, beta=4.0, noise=4.0, n=4, runs=2, t_end=0.2, measure="final")
    np.testing.assert_array_equal(plain.final, same.final)


def test_bad_noise_gets_a_sentence():
    with pytest.raises(InputError, match="noise must be a number κ > 0"):
        pk.ensemble(**SMALL, noise=[4.0, -1.0])
