"""Transformers: every part against the definition written out token by token."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.special import ndtr
from support.common import worst
from support.transformers import random_state, random_transformer

import parkade as pk
from parkade.base.errors import InputError
from parkade.model.model import from_dict

MASKS = ("causal", "full", "window(2)", "prefix(3)")
KINDS = ("softmax", "linear", "unnormalised", "hardmax")


def turned(position, k, x):
    """R_k x, plane by plane, for a query or a key x."""
    if not isinstance(position, pk.Rope):
        return x
    result = x.copy()
    for i in range(len(x) // 2):
        angle = k * position.base ** (-2 * i / len(x))
        plane = complex(x[2 * i], x[2 * i + 1]) * complex(math.cos(angle), math.sin(angle))
        result[2 * i], result[2 * i + 1] = plane.real, plane.imag
    return result


def force(model, x):
    """The force on every token, by loops."""
    result = np.zeros_like(x)
    n = len(x)
    seen = {
        "causal": lambda k, j: j <= k,
        "full": lambda k, j: True,
        "window(2)": lambda k, j: k - 2 < j <= k,
        "prefix(3)": lambda k, j: j <= k or (k < 3 and j < 3),
    }[str(model.mask)]
    for k in range(n):
        keys = [j for j in range(n) if seen(k, j)]
        for h, head in enumerate(model.heads):
            q = turned(model.position, k, head.Q @ x[k] + head.bq)
            rows = [turned(model.position, j, head.K @ x[j] + head.bk) for j in keys]
            scores = head.beta * np.array(rows) @ q
            if isinstance(model.position, pk.Alibi):
                slope = model.position.slope[h] if model.position.slope.ndim else 0.3
                scores -= slope * np.abs(k - np.array(keys))
            weights = {
                "softmax": lambda s: np.exp(s) / np.exp(s).sum(),
                "linear": lambda s: s / len(s),
                "unnormalised": lambda s: np.exp(s) / len(s),
                "hardmax": lambda s: (s == s.max()) / (s == s.max()).sum(),
            }[model.attention](scores)
            result[k] += head.V @ (weights @ x[keys])
        if model.mlp is not None:
            z = model.mlp.W1 @ x[k] + model.mlp.b1
            active = {
                "relu": np.maximum(z, 0),
                "gelu": z * ndtr(z),
                "silu": z / (1 + np.exp(-z)),
            }[model.mlp.activation]
            result[k] += model.mlp.W2 @ active + model.mlp.b2
    return result


@pytest.mark.parametrize("attention", KINDS)
@pytest.mark.parametrize("seed", range(12))
def test_forces_are_those_of_the_definition(seed, attention):
    made = random_transformer(seed, masks=MASKS)
    model = pk.Transformer(
        made.heads, mlp=made.mlp, mask=made.mask, position=made.position, attention=attention
    )
    x = pk.sphere.uniform(6, model.d, seed=seed)
    expected = force(model, x)
    assert worst(model.force(x), expected) < 1e-12 * (1 + np.abs(expected).max())


@pytest.mark.parametrize("position", [None, pk.Rope(30.0), pk.Alibi(0.3)])
def test_heads_with_biases_have_no_kernel(position):
    rng, x = np.random.default_rng(1), pk.sphere.uniform(5, 4, seed=2)
    bq = rng.standard_normal(3)
    head = pk.Head(*rng.standard_normal((2, 3, 4)), beta=2.0, bq=bq, bk=[1, 2, 3])
    model = pk.Transformer([head], position=position)
    assert worst(model.force(x), force(model, x)) < 1e-13
    bare = pk.Transformer([pk.Head(head.Q, head.K, beta=2.0)], position=position)
    assert worst(model.force(x), bare.force(x)) > 0.1
    assert not model.plain
    assert model.product is None
    assert model.scores == ()
    assert model.sharpness > bare.sharpness
    assert "naive velocity" in pk.simulate(model, x, 0.1).stats.engine
    assert from_dict(json.loads(json.dumps(model.to_dict()))) == model != bare
    part = pk.Transformer(parts=[head], position=position, d=4)  # without a slope of its own
    assert (worst(part.force(x), model.force(x)) == 0) != isinstance(position, pk.Alibi)


@pytest.mark.parametrize("norm", ["post", "pre", "mix", "peri", "ngpt", "sqrt"])
def test_normalisations_are_clocks(norm):
    model = pk.Transformer([pk.Head(d=3, beta=2.0)], norm=norm, mlp=pk.MLP.random(3, seed=1))
    x, t = pk.sphere.uniform(4, 3, seed=2), 0.5 if norm == "mix" else 3.0
    radii = np.array([0.5, 1.0, 2.0, 3.0])
    F = model.force(x)
    radial = np.sum(x * F, axis=1)
    sizes = np.linalg.norm(F, axis=1)
    clock = {
        "post": 1,
        "pre": radii,
        "mix": 1,
        "peri": radii * sizes,
        "ngpt": sizes,
        "sqrt": math.sqrt(t + 1),
    }[norm] * np.ones(4)
    moved = (F - radial[:, None] * x) / clock[:, None]
    assert worst(model.velocity(x, t=t, radii=radii), moved) < 1e-14
    grown = radial / clock if norm in ("pre", "peri") else np.zeros(4)
    change = model.change(np.concatenate([x, np.log(radii)[:, None]], axis=1), t=t)
    np.testing.assert_allclose(change[:, 3], grown, atol=1e-14)
    assert worst(change[:, :3], moved) < 1e-14
    if norm == "mix":
        late = model.change(np.concatenate([x, np.log(radii)[:, None]], axis=1), t=1.0)
        np.testing.assert_allclose(late[:, 3], radial / radii, atol=1e-14)


@pytest.mark.parametrize("seed", range(8))
def test_files(seed):
    made = random_transformer(seed, masks=MASKS)
    options = {"parts": (), "attention": KINDS[seed % 4]}
    model = pk.Transformer(
        made.heads,
        mlp=made.mlp,
        mask=made.mask,
        norm=[made.norm, pk.Mix(2.0), pk.NGPT(0.1)][seed % 3],
        position=made.position,
        **options,
    )
    same = from_dict(json.loads(json.dumps(model.to_dict())))
    assert same == model
    assert repr(same) == repr(model)
    assert same.label == model.label
    assert same != model.with_norm("post" if model.norm.name != "post" else "pre")


def test_tokens_without_the_extras_are_those_of_attention():
    head = pk.Head(d=3, beta=4.0)
    x = pk.sphere.uniform(9, 3, seed=1)
    model = pk.Transformer([head])
    assert model.plain
    assert "norm" not in model.to_dict()
    for other in (
        pk.Transformer([head], mask=pk.Window(9)),
        pk.Transformer([head], mask=pk.Prefix(1)),
        pk.Transformer([head], position=pk.Alibi(0.0)),
        pk.Transformer([head], norm=pk.Pre()),
        pk.Transformer([head], mlp=pk.MLP(np.zeros((1, 3)), np.zeros((3, 1)))),
    ):
        assert worst(other.velocity(x), model.velocity(x)) < 1e-15


def test_rope_depends_on_distance_only():
    """Weights do not change if all tokens move on by some places."""
    position, d = pk.Rope(50.0), 5
    head = pk.Head.random(d, seed=1)
    x = pk.sphere.uniform(8, d, seed=2)
    full = pk.Transformer([head], position=position, mask="full")
    later = pk.Transformer([head], position=position, mask=pk.Window(4))
    # The last of the tokens attends to the last four, wherever they stand.
    assert worst(later.force(x)[-1:], full.force(x[4:])[-1:]) < 1e-14


def test_random_heads():
    model = pk.Transformer(64, d=16, d_head=4, beta=3.0, seed=1)
    assert [len(head.Q) for head in model.heads] == [4] * 64
    assert np.linalg.matrix_rank(model.heads[0].V) == 4
    x, y = pk.sphere.uniform(2000, 16, seed=2), pk.sphere.uniform(2000, 16, seed=3)
    head = model.heads[0]
    scores = head.beta * np.einsum("km,km->k", x @ head.Q.T, y @ head.K.T)
    # About 16 independent numbers decide the size: within a factor of two.
    assert 1.5 < scores.std() < 6
    total = sum(head.V for head in model.heads)
    assert 0.5 < np.linalg.norm(x @ total.T, axis=1).mean() < 2
    assert model == pk.Transformer(64, d=16, d_head=4, beta=3.0, seed=1)


def test_array_api():
    import array_api_strict as xp

    for seed in range(6):
        model = random_transformer(seed, masks=MASKS)
        if model.mlp is not None and model.mlp.activation == "gelu":
            continue  # needs the library's own normal distribution
        state = random_state(model, 5, seed)
        change = model.change(xp.asarray(state), t=1.0)
        assert worst(np.asarray(change), model.change(state, t=1.0)) < 1e-14


def test_traits():
    model = pk.Transformer(
        [pk.Head(V=[1, 0], beta=2.0), pk.Head(V=[0, 1], beta=2.0)], norm="sqrt", mask=pk.Window(3)
    )
    assert model.triangular
    assert not model.autonomous
    assert not model.radii
    assert model.beta == 2.0
    np.testing.assert_array_equal(model.generator, np.eye(2))
    assert not pk.Transformer([pk.Head(d=2)], mask=pk.Prefix(2)).triangular
    assert pk.Transformer([pk.Head(d=2)], position=pk.Rope()).product is None
    assert model.label == "2 heads, sqrt-norm, window(3) mask"
    assert repr(pk.Prefix(7)) == "Prefix(7)"
    assert pk.Transformer([pk.Head(d=2)], mask="window(5)").mask == pk.Window(5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pk.Window(0), "the number of a window mask must be a whole number ≥ 1, got 0"),
        (lambda: pk.Attention(d=2, mask="window"), "mask must be one of 'causal', 'full'"),
        (lambda: pk.Attention(d=2, mask="window(x)"), r"got 'window\(x\)'"),
        (lambda: pk.Alibi([-1.0]), "slope must be a number ≥ 0"),
        (
            lambda: pk.Transformer([pk.Head(d=2)], position=pk.Alibi([1, 2])),
            "one for each of the 1 heads, got 2",
        ),
        (lambda: pk.Rope(-1.0), "base must be > 0, got -1"),
        (lambda: pk.Transformer([pk.Head(d=2)], position="rope"), r"position must be pk\.Rope"),
        (lambda: pk.Transformer([pk.Head(d=2)], norm="batch"), "norm must be one of 'post', 'pre'"),
        (lambda: pk.Mix(0.0), "tau must be > 0"),
        (lambda: pk.NGPT(-1.0), "alpha must be > 0"),
        (lambda: pk.Transformer([pk.Head(d=2)], attention="max"), "attention must be one of"),
        (lambda: pk.MLP([1, 2], [3]), r"W1 must be a \(p, d\) matrix, got shape \(2,\)"),
        (lambda: pk.MLP(np.ones((4, 2)), np.ones((4, 2))), "W2 must be a 2×4 matrix, since W1 is"),
        (lambda: pk.MLP(np.ones((4, 2)), np.ones((2, 4)), [1]), "b1 must have 4 entries"),
        (lambda: pk.MLP(np.ones((1, 2)), np.ones((2, 1)), activation="sin"), "activation must be"),
        (lambda: pk.MLP([[1e60, 0]], [[1], [1]]), "must be at most 1e"),
        (lambda: pk.Transformer([pk.Head(d=2)], mlp=3), r"mlp must be a pk\.MLP, got 3"),
        (
            lambda: pk.Transformer([pk.Head(d=2)], mlp=pk.MLP.random(3, seed=1)),
            "mlp must have d=2 like the heads, got d=3",
        ),
        (lambda: pk.Transformer(4), "random heads of any dimension; give d"),
        (lambda: pk.Transformer([pk.Head(d=2)], seed=3), "seed is for random heads"),
        (lambda: pk.Transformer(3.5, d=2), "heads must be a list of heads or a number"),
        (lambda: pk.Head(np.ones((2, 3)), np.ones((1, 3))), "same number of rows, got 2 and 1"),
        (lambda: pk.Head(np.ones((2, 3)), np.ones((2, 4))), "K must be a number, a vector of"),
        (lambda: pk.Head(d=2, bq=[1.0]), r"bq must have 2 entries, got shape \(1,\)"),
        (lambda: pk.Head(d=2, bk=[0.0, 1e60]), r"entries of bk must be at most 1e\+50 in size"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_frozen_tokens_have_no_position():
    model = pk.Transformer([pk.Head(d=2)], position=pk.Rope())
    with pytest.raises(InputError, match="frozen tokens have no position"):
        pk.simulate(model, np.eye(2), 1.0, frozen=np.eye(2))


@pytest.mark.parametrize("norm", [pk.Mix(2.5), pk.NGPT(0.1), pk.Mix()])
def test_the_text_of_a_norm_names_it(norm):
    model = pk.Transformer([pk.Head(d=2)], norm=str(norm))
    assert model.norm == norm
    with pytest.raises(InputError, match="norm must be one of"):
        pk.Transformer([pk.Head(d=2)], norm="mix(a)")


def test_scores_and_plain_models():
    heads = [pk.Head(d=4, beta=2.0), pk.Head.random(4, 2, seed=1)]
    model = pk.Transformer(heads, position=pk.Alibi([0.5, 0.25]))
    assert [one.slope for one in model.scores] == [0.5, 0.25]
    np.testing.assert_array_equal(model.scores[0].query, 2 * np.eye(4))
    np.testing.assert_array_equal(model.scores[1].key, heads[1].K)
    turned = pk.Transformer(heads, position=pk.Rope(100.0)).scores
    assert [one.frequencies.tolist() for one in turned] == [[1.0, 0.1], [1.0]]
    assert pk.Transformer(heads, attention="linear").scores == ()
    assert pk.Attention(d=2).plain
    assert not model.plain
    assert pk.Layers([0.0, 1.0], [pk.Attention(d=2), pk.Attention(d=2, beta=2.0)]).plain
    assert not pk.Flow(lambda t, x: 0 * x, 2).plain
