"""Parts of transformers as parameters of an ensemble: axes, recipes, draws and measures."""

from __future__ import annotations

import json

import numpy as np
import pytest

import parkade as pk
from parkade.base.errors import InputError
from parkade.cli.sweep import read_recipe
from parkade.sweeps import laws
from parkade.sweeps.measures import MEASURES

SMALL = {"d": 3, "n": 8, "runs": 2, "t_end": 5.0, "times": [1.0, 5.0], "measure": "final"}


def start(run, n=8, d=3):
    return pk.sphere.uniform(n, d, laws.generator(0, run, "start"))


def test_norms_and_masks_are_axes(tmp_path):
    norms = ["post", "pre", "mix(2.5)", "ngpt"]
    ds = pk.ensemble(**SMALL, beta=4.0, norm=norms, mask=["window(3)", "causal"], store=tmp_path)
    assert dict(ds.sizes) | {"norm": 4, "mask": 2, "run": 2} == dict(ds.sizes)
    for norm in norms:
        chosen = pk.Mix(2.5) if norm.startswith("mix") else norm
        for mask in ds.mask.values:
            model = pk.Transformer([pk.Head(d=3, beta=4.0)], norm=chosen, mask=str(mask))
            final = pk.simulate(model, start(1), 5.0).final
            assert np.array_equal(ds.final.sel(norm=norm, mask=mask, run=1), final)
    assert pk.load_ensemble(tmp_path).identical(ds)


def test_random_heads_and_mlps_are_drawn_for_every_run():
    ds = pk.ensemble(**SMALL, heads=[1, 3], d_head=2, mlp=[0, 5], norm="peri")
    for heads in (1, 3):
        for width in (0, 5):
            mlp = pk.MLP.random(3, width, laws.generator(0, 1, "mlp")) if width else None
            rng = laws.generator(0, 1, "heads")
            model = pk.Transformer(heads, d=3, d_head=2, seed=rng, mlp=mlp, norm="peri")
            final = pk.simulate(model, start(1), 5.0).final
            assert np.array_equal(ds.final.sel(heads=heads, mlp=width, run=1), final)
    recipe = json.loads(ds.attrs["recipe"])
    assert (recipe["heads"], recipe["d_head"], recipe["mlp"]) == ([1, 3], 2, [0, 5])
    assert not {"Q", "K", "V"} & set(recipe)


def test_what_is_as_usual_is_not_in_a_recipe():
    plain = pk.ensemble(**SMALL)
    usual = pk.ensemble(**SMALL, norm="post", mlp=0, mask="causal")
    assert usual.identical(plain)
    assert not {"norm", "heads", "d_head", "mlp"} & set(json.loads(plain.attrs["recipe"]))


def test_every_measure_works_with_lengths():
    options = SMALL | {"measure": list(MEASURES), "runs": 1}
    ds = pk.ensemble(**options, beta=4.0, norm=["post", "pre"])
    run = pk.simulate(pk.Transformer([pk.Head(d=3, beta=4.0)], norm="pre"), start(0), 5.0)
    pre, post = ds.sel(norm="pre", run=0), ds.sel(norm="post", run=0)
    np.testing.assert_allclose(pre.radii, run.radii_at([1.0, 5.0]), rtol=1e-12)
    assert np.isnan(post.radii).all()
    np.testing.assert_array_equal(pre.arrival, run.merge_tree().arrivals)
    assert np.isnan(pre.forecast_arrival).all()
    assert not np.isnan(post.forecast_arrival).any()


def test_files_name_them(tmp_path):
    file = tmp_path / "a.toml"
    file.write_text('d = 2\nnorm = ["post", "pre", "peri"]\nmask = "window(16)"\nmlp = 8\n')
    recipe = read_recipe(file)
    assert recipe.points["norm"].values == ("post", "pre", "peri")
    assert recipe.axes["mask"].values == ("window(16)",)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"norm": ["post", "batch"]}, "norm must be one of 'post', 'pre'"),
        ({"norm": "mix(x)"}, "norm must be one of 'post', 'pre'"),
        ({"norm": ["pre", "pre"]}, "norm must have different values, but pre appears twice"),
        ({"mask": "band(3)"}, "mask must be one of 'causal'"),
        ({"heads": 0}, "heads must be a whole number ≥ 1, got 0"),
        ({"heads": 2, "V": 1.0}, "V is for one head, but heads=2 are random ones; omit one"),
        ({"d_head": 2}, "d_head is the rank of random heads; give heads as well"),
        ({"mlp": -1}, "mlp must be a width, a whole number ≥ 0 with 0 for none, got -1"),
        ({"model": pk.Transformer(2, d=3), "norm": "pre"}, "norm applies to Attention only"),
    ],
)
def test_bad_parts_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        pk.ensemble(**SMALL | changes)
