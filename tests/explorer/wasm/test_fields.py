"""What the builder of engines for pages has for transformers, as Python: packaging/wasm."""

from __future__ import annotations

import numpy as np
import pytest
from support.builder import interpreted, leaves

import parkade as pk
from parkade.engine.steps.methods import METHODS
from parkade.solve.lowering.frame import transformer_frame
from parkade.solve.lowering.lower import prepare_field
from parkade.solve.lowering.workspace import field_workspace

MODELS = {
    "one head": pk.Transformer([pk.Head(d=2)], norm="pre"),
    "narrow heads": pk.Transformer(4, d=3, d_head=1, beta=1.0, seed=1),
    "a window": pk.Transformer([pk.Head(d=3)], mask="window(3)", mlp=pk.MLP.random(3, seed=1)),
    "no heads": pk.Transformer([], mlp=pk.MLP.random(2, seed=1)),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("method", ["explicit", "implicit", "splitting"])
def test_room_is_that_of_the_engine(name, method, monkeypatch):
    (room,), model = interpreted(monkeypatch, "runs.field_room"), MODELS[name]
    field = prepare_field(model, transformer_frame(model, long=False))
    for n in (1, 7, 40):
        columns = model.d + model.radii
        expected = field_workspace(METHODS[method], field, n, columns)
        if method == "splitting":
            made = room.splitting_room(n, columns, expected.noise, expected.wanted)
        else:
            made = room.FIELD_ROOM[method].py_func(field, n, columns)
        assert type(made) is type(expected) is type(room.FIELD_WORK[method])
        parts = leaves(made), leaves(expected), leaves(room.FIELD_WORK[method])
        for ours, theirs, example in zip(*parts, strict=True):
            if isinstance(theirs, np.ndarray):
                assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
                assert (example.ndim, example.dtype) == (theirs.ndim, theirs.dtype)
            else:
                assert ours == theirs
        np.testing.assert_array_equal(made.clock, expected.clock)
        if method == "implicit":
            np.testing.assert_array_equal(made.lin.offsets, expected.lin.offsets)


RNG = np.random.default_rng(1)
MATRICES = {
    "two": RNG.normal(size=(2, 2)),
    "three": RNG.normal(size=(3, 3)),
    "tall": RNG.normal(size=(40, 3)),
    "of rank one": np.outer([1.0, 2.0, 3.0], [1.0, -1.0, 0.5]),
    "zero": np.zeros((2, 2)),
    "graded": RNG.normal(size=(3, 3)) * [1.0, 1e-8, 1e-12],
}


@pytest.mark.parametrize("name", MATRICES)
def test_singular_values_are_those_of_lapack(name, monkeypatch):
    (svd,), matrix = interpreted(monkeypatch, "numerics.svd"), MATRICES[name]
    columns, turned = matrix.copy(), np.empty((matrix.shape[1],) * 2)
    svd.orthogonalize(columns, turned)
    result = sorted((svd.length_of_column(columns, j) for j in range(len(turned))), reverse=True)
    expected = np.linalg.svd(matrix, compute_uv=False)
    np.testing.assert_allclose(result, expected, rtol=1e-13, atol=1e-15 * expected[0])
    np.testing.assert_allclose(columns @ turned.T, matrix, atol=1e-15 * max(1.0, expected[0]))
    np.testing.assert_allclose(turned @ turned.T, np.eye(len(turned)), atol=1e-15)


@pytest.mark.parametrize("shape", [(2, 1), (2, 2), (3, 1), (3, 2), (3, 3)])
def test_random_directions_are_those_of_lapack(shape, monkeypatch):
    """With its signs: heads are drawn from them."""
    (parts,) = interpreted(monkeypatch, "runs.parts")
    for seed in range(20):
        drawn = np.random.default_rng(seed).standard_normal(shape)
        numbers = iter(drawn.ravel())
        monkeypatch.setattr(parts, "normal", lambda state, numbers=numbers: next(numbers))
        d, m = shape
        out = np.empty((m, d))
        parts._directions(None, out)
        expected = np.linalg.qr(drawn)[0].T * (d / m) ** 0.5
        np.testing.assert_allclose(out, expected, atol=1e-15 * d)
