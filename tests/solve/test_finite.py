"""No run has a number that is not finite, whatever the model: it ends with a sentence."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from support.drift import Drift

import parkade as pk
from parkade.base.errors import InputError, StuckError
from parkade.engine.vectors import largest
from parkade.solve.naive.explicit import NaiveExplicit

MLP = pk.MLP([[1, 0, 0]], [[0], [1], [0]])  # no force where the first coordinate is negative
X0 = np.array([[-0.6, 0.8, 0.0], [0.6, 0.8, 0.0]])


@pytest.mark.parametrize("parts", [(), (Drift((0.0, 0.0, 1.0), 0.0),)], ids=["compiled", "naive"])
@pytest.mark.parametrize("options", [{"method": "explicit"}, {"method": "implicit"}, {"seed": 1}])
@pytest.mark.parametrize("norm", ["ngpt", "peri"])
def test_a_token_without_a_force_is_named(norm, options, parts):
    """Also if it is not the last one."""
    noise = 20.0 if "seed" in options else None
    model = pk.Transformer([], d=3, mlp=MLP, norm=norm, noise=noise, parts=parts)
    with pytest.raises(StuckError, match=f"token 0 feels no force at t=0, .*{norm}"):
        pk.simulate(model, X0, 5.0, **options)


def test_a_later_layer_without_a_force():
    calm = pk.Transformer([pk.Head(d=3)])
    model = pk.Layers([0, 1], [calm, pk.Transformer([], d=3, mlp=MLP, norm="ngpt")])
    with pytest.raises(StuckError, match="token 0 feels no force at t=1, "):
        pk.simulate(model, X0, 5.0)
    part = pk.simulate(model, X0, 5.0, partial=True)
    assert part.times[-1] == 1.0


@pytest.mark.parametrize("method", ["explicit", "implicit"])
def test_a_function_without_a_value(method):
    def until_one(t, tokens):
        return np.where((t > 1) & (np.arange(len(tokens))[:, None] == 1), np.nan, [1.0, 0.0])

    flow, x0 = pk.Flow(until_one, d=2, causal=True), pk.sphere.from_angles([1.0, 2.0, 3.0])
    with pytest.raises(
        StuckError, match=r"Flow.until.* token 1 a velocity at t=(1|0.9999\d*) that"
    ):
        pk.simulate(flow, x0, 2.0, method=method)
    part = pk.simulate(flow, x0, 2.0, method=method, partial=True)
    assert part.times[-1] == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("where", [1, 2], ids=["tokens", "dense"])
def test_every_chunk_of_steps_is_checked(monkeypatch, where):
    advance = NaiveExplicit.advance

    def spoil(stepper, most):
        taken = advance(stepper, most)
        taken[where][3:, ..., 4, 0] = np.nan
        return taken

    model, x0 = pk.Flow(lambda t, x: x[::-1], d=2), pk.sphere.uniform(6, 2, seed=1)
    whole = pk.simulate(model, x0, 1.0, method="explicit")
    monkeypatch.setattr(NaiveExplicit, "advance", spoil)
    with pytest.raises(StuckError, match=rf"token 4 a velocity before t={whole.times[4]:g} "):
        pk.simulate(model, x0, 1.0, method="explicit", times="final")
    part = pk.simulate(model, x0, 1.0, method="explicit", partial=True)
    assert np.array_equal(part.tokens, whole.tokens[:4])


def test_no_path_and_no_file_has_them(tmp_path):
    run = pk.simulate(pk.Attention(d=2), pk.sphere.uniform(3, 2, seed=1), 1.0)
    tokens, dense = run.tokens.copy(), run.dense.copy()
    tokens[1, 2, 0] = dense[0, 1, 2, 0] = np.nan
    for name, value in (("tokens", tokens), ("dense", dense)):
        with pytest.raises(InputError, match=f"{name} must be finite, got nan at index"):
            dataclasses.replace(run, **{name: value})
    with pytest.raises(InputError, match="tokens must be finite, got nan at index 1, 2, 0"):
        pk.Path(run.times, tokens)
    run.tokens[1, 2, 0] = np.nan
    run.save(tmp_path / "run.npz")
    with pytest.raises(InputError, match=r"run\.npz is not .* tokens must be finite, got nan at"):
        pk.load(tmp_path / "run.npz")


@pytest.mark.parametrize("row", range(3))
def test_the_largest_row_may_be_nan(row):
    rows = np.ones((3, 2))
    rows[row, 1] = np.nan
    assert np.isnan(largest(rows))
