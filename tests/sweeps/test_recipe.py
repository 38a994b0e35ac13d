"""Recipes: how arguments of `ensemble` become one, what is refused, and a batch of it."""

from __future__ import annotations

import numpy as np
import pytest
from support.common import EPS, worst

import parkade as pk
from parkade.sweeps import request
from parkade.sweeps.batch import EnsembleJob, run_batch
from parkade.sweeps.recipe import Recipe
from parkade.sweeps.store import Store


def recipe(model=None, **changes):
    """A recipe from some of the arguments of `ensemble`."""
    options = {"runs": 3, "t_end": 2.0, "seed": 0, "times": None, "measure": "final"}
    options |= {"radius": None, "tol": 1e-6, "batch": None, "sums": "auto"}
    for name in set(options) & set(changes):
        options[name] = changes.pop(name)
    return request.make(model, {"d": 2, **changes} if model is None else changes, options)


def test_ways_to_write_the_same_give_the_same_recipe():
    same = [
        recipe(pk.Attention(2, 1.0)),
        recipe(V="I"),
        recipe(V=[1, 1], beta=1),
        recipe(V=np.eye(2), n=200, start="uniform"),
    ]
    assert len({r.to_json() for r in same}) == 1
    again = Recipe.from_json(same[0].to_json())
    assert again.to_json() == same[0].to_json()


def test_lists_of_matrices_and_starts_are_understood():
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    tokens = pk.sphere.uniform(200, 2, seed=1)
    r = recipe(
        V=[turn, [1, 0.5], 2.0],
        Q={"wide": [1, 2], "narrow": [[2, 0], [1, 2]]},
        K=turn,
        start=["uniform", ("von Mises–Fisher", 5), ["mixture", 3, 0.1], tokens],
    )
    assert r.axes["V"].labels == ("[0, -1; 1, 0]", "diag(1, 0.5)", "2 I")
    assert r.axes["Q"].labels == ("wide", "narrow")
    assert not r.axes["K"].swept
    laws_of_start = ("uniform", "von Mises-Fisher(5)", "mixture(3, 0.1)", "given")
    assert r.axes["start"].labels == laws_of_start
    assert worst(r.simulation(r.total - 1).tokens, tokens) < 4 * EPS
    assert Recipe.from_json(r.to_json()).to_json() == r.to_json()
    assert recipe(start=tokens[:7].tolist()).axes["n"].values == (7,)
    assert recipe(start=("mixture", 3, 0.1)).axes["start"].swept is False


def test_a_batch_is_one_function_of_text_and_numbers(tmp_path):
    r = recipe(n=4)
    Store(tmp_path, r).prepare()
    assert run_batch(EnsembleJob(r.to_json(), store=str(tmp_path)), 1) is None
    stored = Store(tmp_path, r).read(partial=True).arrays["final"]
    measured = run_batch(EnsembleJob(r.to_json()), 1)
    assert measured.batch == 1
    assert np.array_equal(stored[1:2], measured.arrays["final"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"V": [[0, -1], [1, 0]]}, r"may mean one matrix or 2 diagonals; pass numpy.array\(V\)"),
        ({"V": [1, 1, 1]}, r"V must be a number, a vector of length 2"),
        ({"V": "random"}, r"V must be one of 'I', 'gaussian', got 'random'"),
        ({"V": [1, 2], "d": [2, 3]}, r"V must be a number, a vector of length 3"),
        ({"d": None}, r"Q, K, V and start must imply one dimension, got none; give d"),
        ({"beta": [1, 2, 1]}, r"beta must have different values, but 1\.0 appears twice"),
        ({"beta": []}, r"beta must have at least one value"),
        ({"beta": -1.0}, r"beta must be ≥ 0, got -1"),
        ({"n": [3, 0]}, r"n must be a whole number ≥ 1, got 0"),
        ({"mask": ["causal", "none"]}, r"mask must be one of 'causal', 'full', .*got 'none'"),
        ({"start": "normal"}, r"start must be one of 'uniform', got 'normal'"),
        ({"start": ("mixture", 3)}, r"start must be 'uniform', \('von Mises-Fisher', kappa\)"),
        ({"start": [[1.0, 0.0]], "n": 5}, r"start gives 1 token in d=2, so n and d must be"),
        ({"c": 4.0, "delta": 0.5}, r"got both c \(δ = cβ\^\{-1/2\}\) and delta; give only one"),
        ({"c": [1.0, 2.0]}, r"c has no effect on final, only on consumption or centers; measure"),
        ({"delta": 0.5}, r"delta has no effect on final, only on consumption or centers; meas"),
        (
            {"cluster_radius": 0.1},
            r"cluster_radius has no effect on final, only on clusters or merges or forecast; ",
        ),
        (
            {"radius": 0.5, "measure": ["clusters", "final"]},
            r"radius has no effect on clusters, final, only on consumption; measure that as well, "
            r"or omit radius; clusters have cluster_radius",
        ),
        ({"measure": "clusters", "cluster_radius": 4}, r"cluster_radius must be an angle below π"),
        ({"measure": "clusters", "cluster_radius": [0.1, 0]}, r"cluster_radius must be > 0, got 0"),
        ({"measure": "size"}, r"measure must be one of 'clusters', 'merges'"),
        ({"measure": ()}, r"measure must name at least one of clusters, merges"),
        ({"seed": None}, r"seed must be a whole number ≥ 0, got None"),
        ({"seed": -1}, r"seed must be a whole number ≥ 0, got -1"),
        ({"runs": 0}, r"runs must be a whole number ≥ 1, got 0"),
        ({"tol": 1.0}, r"tol must lie in"),
        ({"times": [3.0]}, r"times must lie in \[0, t_end=2\]"),
        ({"times": {"from": 1}}, r"times must have the keys from, to, count, got \['from'\]"),
        ({"measure": "consumption", "radius": 0}, r"radius must be > 0, got 0"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(arguments, message):
    with pytest.raises(pk.InputError, match=message):
        recipe(**arguments)
