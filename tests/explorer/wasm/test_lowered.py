"""The input of an engine in a page, and models that pages do not compute."""

from __future__ import annotations

import numpy as np
import pytest
from support.lowered import engine, lowered

import parkade as pk
from parkade.explorer.settings.rules import DIMENSIONS
from parkade.solve.options import Options
from parkade.solve.solver import Solver


def problem(model, t_end=10.0, **options):
    x0 = pk.sphere.uniform(8, model.d, seed=1)
    return lowered(Solver(model, Options(t_end, **options)), x0)


def test_a_problem_is_in_its_frame():
    """The value matrix and the tokens are in V's Schur basis, in which V is diagonal here."""
    V = np.array([[1.0, 0.3], [0.3, 0.5]])
    result = problem(pk.Attention(d=2, V=V, beta=2.0), 1e6, method="implicit")
    value, tokens = np.reshape(result["value"], (2, 2)), np.reshape(result["tokens"], (8, 2))
    np.testing.assert_allclose(np.sort(np.diag(value)), np.linalg.eigvalsh(V), atol=1e-15)
    assert value[0, 1] == value[1, 0] == 0.0
    x0 = pk.sphere.uniform(8, 2, seed=1)
    along = np.einsum("kc,ce,ke->k", x0, V, x0)
    np.testing.assert_allclose(np.einsum("kc,ce,ke->k", tokens, value, tokens), along, atol=1e-15)
    np.testing.assert_allclose(result["query"], 2.0 / np.log(2) * np.eye(2).ravel(), atol=1e-15)


def test_there_is_an_engine_for_each_dimension_and_method():
    for d in DIMENSIONS:
        for method in ("explicit", "implicit"):
            assert engine(method, d).startswith(b"\0asm\1\0\0\0")
    for method in ("explicit", "implicit", "splitting"):
        assert engine(method).startswith(b"\0asm\1\0\0\0")


@pytest.mark.parametrize(("method", "d"), [("splitting", 2), ("explicit", 4)])
def test_other_engines_are_refused(method, d):
    with pytest.raises(pk.InputError, match=rf"got {method} with d = {d}; use parkade explore"):
        engine(method, d)


def test_models_without_an_engine_are_refused():
    model = pk.Transformer([pk.Head(d=2), pk.Head(d=2)], attention="linear")
    with pytest.raises(pk.InputError, match=r"no engine for .*; use parkade explore"):
        problem(model)
    with pytest.raises(pk.InputError, match="pages compute d = 2 and 3, got d=4"):
        problem(pk.Attention(d=4))


def test_models_one_after_the_other_keep_their_times():
    """Each begins when the one before ends; steps are limited by the time of the run."""
    model = pk.Scheduled(pk.Attention(d=2, V=[[1.0, 1.0], [0.0, 1.0]]), pk.Schedule([0, 4], [1, 2]))
    first, second = problem(model, 1e4, method="implicit")["pieces"]
    assert (first["times"], first["t_end"]) == ([0.0, 0.0, 4.0], 4.0)
    assert (second["times"], second["t_end"]) == ([4.0, 4.0, 1e4], 1e4)


def test_harmonic_sums_for_other_queries_are_refused():
    model = pk.Attention(d=2, Q=[1.0, 2.0], beta=4.0)
    with pytest.raises(pk.InputError, match="use sums='direct'"):
        problem(model, sums="harmonic")
    assert problem(model, sums="direct")["table"] is None
