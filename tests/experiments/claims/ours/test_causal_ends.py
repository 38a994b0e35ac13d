"""Which ends survive: derived for each part of a transformer, seen, and refuted if wrong."""

import dataclasses

import numpy as np
import pytest
from support.experiments import changed, measured

import parkade as pk
from parkade.experiments.claims.common import noisy_ends, variants
from parkade.experiments.claims.ours import causal_ends

# Smaller runs, so that all variants take seconds.
small = changed(causal_ends, N=12, BETA=12.0, SMALL=8, SHARP=24.0, FIRST=5.0)
less_noise = changed(noisy_ends, KAPPAS=(100.0,))
evidence = measured(causal_ends)


def test_ends_are_as_derived(evidence, presentable):
    assert evidence.verdict == "agrees"
    numbers = evidence.numbers
    assert set(numbers["ends"]["RoPE"]) == {"x₁(0)"}
    assert set(numbers["ends at weak β"]["pre-norm"]) == {"x₁(0)"}
    assert set(numbers["ends"]["pre-norm"]) == {"unfinished"}
    assert set(numbers["ends"]["hardmax"]) == {"elsewhere"}
    assert numbers["median ratio"] == pytest.approx(1, abs=0.05)
    assert len(evidence.tables[0].rows) == len(variants.VARIANTS) + 2
    presentable(causal_ends.CLAIM, evidence)


def test_clusters_that_noise_never_joins_have_no_time():
    """JSON has no infinity."""
    runs = [noisy_ends.Wander(5, left, one, 0.3) for left, one in ((2, np.inf), (1, 2.5))]
    assert causal_ends.until_one({300.0: runs}) == {"300": [None, 2.5]}


@pytest.mark.parametrize("name", ["MLP, W2 = W1ᵀ", "RoPE"])
def test_a_wrong_end_is_refuted(verdict, name):
    by_name = {variant.name: variant for variant in variants.VARIANTS}
    norms = [by_name[compared] for compared in ("post-norm", "pre-norm", "peri-norm")]
    wrong = dataclasses.replace(by_name[name], survives=not by_name[name].survives)
    assert verdict(causal_ends, VARIANTS=(*norms, wrong)) == "contradicts"


def test_the_mirror_point_is_where_it_is_derived():
    assert variants.mirror(32.0) < 1e-9
    # With the same weights in both heads the theorem holds: the token does not stay there.
    model = pk.Transformer([pk.Head(V=[1, 0], beta=4.0), pk.Head(V=[0, 1], beta=4.0)])
    run = pk.simulate(model, pk.sphere.from_angles(np.radians([30.0, 150.0])), 1e9)
    assert pk.sphere.distance(run.final[1], run.final[0]) < 1e-6


def test_the_size_of_a_network_is_its_largest_tangential_force():
    network = variants.mlp(2, np.random.default_rng(1), 0.01, symmetric=True)
    x = pk.sphere.from_angles(np.linspace(-np.pi, np.pi, 500))
    model = pk.Transformer(mlp=network)
    assert np.linalg.norm(model.velocity(x), axis=1).max() == pytest.approx(0.01, rel=0.02)
