from __future__ import annotations

import math

import array_api_strict
import numpy as np
import pytest
from support.common import EPS, random_model, worst

import parkade as pk


def by_hand(model, tokens, frozen=(), frozen_weights=()):
    """The formula of the model with Python floats and loops."""
    d = model.d

    def apply(matrix, x):
        return [sum(float(matrix[i, j]) * float(x[j]) for j in range(d)) for i in range(d)]

    def dot(x, y):
        return sum(float(a) * float(b) for a, b in zip(x, y, strict=True))

    velocity = []
    for k, x in enumerate(tokens):
        seen = tokens[: k + 1] if model.mask == "causal" else tokens
        keys = [(y, 1.0) for y in seen] + list(zip(frozen, frozen_weights, strict=True))
        pull, z = [0.0] * d, 0.0
        for y, a in keys:
            w = a * math.exp(model.beta * dot(apply(model.Q, x), apply(model.K, y)))
            z += w
            pull = [p + w * v for p, v in zip(pull, apply(model.V, y), strict=True)]
        pull = [p / z for p in pull]
        velocity.append([p - dot(x, pull) * float(c) for p, c in zip(pull, x, strict=True)])
    return np.array(velocity)


def as_jax(x):
    jax = pytest.importorskip("jax")
    return jax.numpy.asarray(x, dtype=jax.numpy.float64)


NAMESPACES = {
    "numpy": np.asarray,
    "array_api_strict": array_api_strict.asarray,
    "torch": lambda x: pytest.importorskip("torch").asarray(np.array(x)),
    "jax": as_jax,
}


@pytest.fixture
def jax():
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        yield jax


@pytest.fixture(params=NAMESPACES)
def make(request):
    """Convert a NumPy array to one of the namespaces."""
    if request.param == "jax":
        request.getfixturevalue("jax")
    return NAMESPACES[request.param]


def test_numbers_vectors_and_matrices_mean_the_same():
    full = pk.Attention(d=3, Q=2 * np.eye(3), K=-np.eye(3), V=np.diag([1.0, 2.0, 3.0]))
    assert pk.Attention(Q=2, K=[-1, -1, -1], V=[1, 2, 3]) == full


@pytest.mark.parametrize("name", ["Q", "K", "V"])
def test_d_is_inferred(name):
    assert pk.Attention(**{name: [1, 1, -1]}).d == 3
    assert pk.Attention(**{name: np.eye(5)}).d == 5


def test_defaults():
    model = pk.Attention(2)
    assert (model.beta, model.mask) == (1.0, "causal")
    for matrix in (model.Q, model.K, model.V):
        assert np.array_equal(matrix, np.eye(2))


def test_matrices_are_copied_and_read_only():
    V = np.eye(2)
    model = pk.Attention(V=V)
    V[0, 0] = 5
    assert model.V[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        model.V[0, 0] = 5


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (pk.Attention(d=2, beta=64.0), "Attention(d=2, beta=64, mask='causal')"),
        (
            pk.Attention(V=[1, 0.5, -1], beta=9, mask="full"),
            "Attention(d=3, beta=9, V=[1, 0.5, -1], mask='full')",
        ),
        (pk.Attention(2, Q=[[0, 1], [1, 0]]), "Attention(d=2, beta=1, Q=<2×2>, mask='causal')"),
        (pk.Attention(9, K=2), "Attention(d=9, beta=1, K=<9×9>, mask='causal')"),
    ],
)
def test_repr(model, text):
    assert repr(model) == text


def test_equality():
    model = random_model(3, beta=2)
    same = pk.Attention(beta=2, Q=model.Q, K=model.K, V=model.V)
    assert model == same
    assert model != pk.Attention(beta=3, Q=model.Q, K=model.K, V=model.V)
    assert model != pk.Attention(beta=2, Q=model.Q, K=model.K, V=model.V, mask="full")
    for name in "QKV":
        matrices = {m: getattr(model, m) for m in "QKV"} | {name: np.eye(3)}
        assert model != pk.Attention(beta=2, **matrices)
    assert pk.Attention(2) != pk.Attention(3)
    assert model != "model"
    with pytest.raises(TypeError, match="unhashable"):
        hash(model)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, r"d cannot be inferred if Q, K and V are numbers; give d"),
        ({"d": 1}, r"d must be ≥ 2, got 1"),
        ({"d": 0}, r"d must be a whole number ≥ 1, got 0"),
        ({"d": 2.0}, r"d must be a whole number ≥ 1, got 2\.0"),
        ({"V": [1.0]}, r"d must be ≥ 2, got 1"),
        ({"d": 2, "beta": -1}, r"beta must be ≥ 0, got -1; put the sign into Q or K"),
        ({"d": 2, "beta": np.inf}, r"beta must be finite, got inf"),
        ({"d": 2, "beta": np.nan}, r"beta must be finite, got nan"),
        ({"d": 2, "beta": "hot"}, r"beta must be a real number, got 'hot'"),
        ({"d": 2, "beta": [1, 2]}, r"beta must be one number, got an array of shape \(2,\)"),
        ({"d": 2, "V": [1, 2, 3]}, r"V must be .* got shape \(3,\)"),
        ({"Q": np.eye(2), "K": np.eye(3)}, r"K must be .*2×2 matrix, got shape \(3, 3\)"),
        ({"V": np.ones((2, 3))}, r"V must be .*2×2 matrix, got shape \(2, 3\)"),
        ({"d": 2, "V": np.ones((2, 2, 2))}, r"V must be .* got shape \(2, 2, 2\)"),
        ({"V": [[1, np.nan], [0, 1]]}, r"V must be finite, got nan at index 0, 1"),
        ({"d": 2, "mask": "banded"}, r"mask must be one of 'causal', 'full'.* got 'banded'"),
        ({"d": 2, "mask": None}, r"mask must be one of 'causal', 'full'.* got None"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(pk.InputError, match=message):
        pk.Attention(**arguments)


@pytest.mark.parametrize("mask", ["causal", "full"])
@pytest.mark.parametrize("d", [2, 3, 5])
def test_velocity_is_the_formula(d, mask):
    model = random_model(d, beta=3.0, seed=d, mask=mask)
    x, frozen = pk.sphere.uniform(6, d, seed=1), pk.sphere.uniform(2, d, seed=2)
    # A few rounding errors of scores and forces of order 10.
    np.testing.assert_allclose(model.velocity(x), by_hand(model, x), atol=1e-14)
    weights = np.array([2.5, 0.5])
    np.testing.assert_allclose(
        model.velocity(x, frozen, weights), by_hand(model, x, frozen, weights), atol=1e-14
    )


@pytest.mark.parametrize("mask", ["causal", "full"])
def test_array_libraries_agree(make, mask):
    model = random_model(3, beta=5.0, seed=1, mask=mask)
    x, frozen = pk.sphere.uniform(12, 3, seed=1), pk.sphere.uniform(2, 3, seed=2)
    weights = np.array([3.0, 0.5])
    # They sum in different orders, so only rounding errors (1e-15) may differ.
    plain = model.velocity(make(x))
    assert type(plain) is type(make(x))
    np.testing.assert_allclose(np.asarray(plain), model.velocity(x), rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        np.asarray(model.velocity(make(x), make(frozen), weights)),
        model.velocity(x, frozen, weights),
        rtol=0,
        atol=1e-12,
    )


def test_batch_axes_are_independent_systems(make):
    model = random_model(3, beta=5.0, seed=2)
    x = pk.sphere.uniform(24, 3, seed=3).reshape(2, 3, 4, 3)
    frozen = pk.sphere.uniform(2, 3, seed=4)
    together = np.asarray(model.velocity(make(x), make(frozen)))
    assert together.shape == x.shape
    for i in np.ndindex(2, 3):
        np.testing.assert_allclose(together[i], model.velocity(x[i], frozen), atol=1e-14)


@pytest.mark.parametrize("mask", ["causal", "full"])
def test_torch_differentiates_the_velocity(mask):
    torch = pytest.importorskip("torch")
    model = random_model(3, beta=2.0, seed=3, mask=mask)
    x = torch.asarray(pk.sphere.uniform(4, 3, seed=5)).requires_grad_()
    assert torch.autograd.gradcheck(model.velocity, (x,))


def test_jax_differentiates_and_compiles_the_velocity(jax):
    model = random_model(3, beta=2.0, seed=3)
    x, u = pk.sphere.uniform(4, 3, seed=5), np.random.default_rng(6).standard_normal((4, 3))
    _, slope = jax.jvp(jax.jit(model.velocity), (as_jax(x),), (as_jax(u),))
    h = 1e-5  # central difference: error h² + EPS/h, about 1e-10
    difference = (model.velocity(x + h * u) - model.velocity(x - h * u)) / (2 * h)
    np.testing.assert_allclose(np.asarray(slope), difference, atol=1e-8)


@pytest.mark.parametrize("beta", [0.0, 1.0, 64.0, 1e4])
@pytest.mark.parametrize("mask", ["causal", "full"])
def test_velocity_is_tangent_and_finite(beta, mask):
    model = random_model(4, beta=beta, seed=4, mask=mask)
    x = pk.sphere.uniform(50, 4, seed=6)
    v = model.velocity(x)
    assert np.isfinite(v).all()
    assert np.abs(v).max() > 1e-3
    # ⟨x, v⟩ is a rounding error of the force, whose length is at most |V|.
    assert np.abs(np.sum(x * v, axis=1)).max() < 8 * EPS * np.linalg.norm(model.V, 2)


@pytest.mark.parametrize("mask", ["causal", "full"])
def test_weight_of_a_frozen_token_counts_its_copies(mask):
    model = random_model(3, beta=4.0, seed=5, mask=mask)
    x, frozen = pk.sphere.uniform(10, 3, seed=7), pk.sphere.uniform(2, 3, seed=8)
    weighted = model.velocity(x, frozen, np.array([3.0, 1.0]))
    copies = model.velocity(x, frozen[[0, 0, 0, 1]])
    np.testing.assert_allclose(weighted, copies, atol=1e-14)
    assert worst(weighted, model.velocity(x, frozen)) > 1e-2


def test_a_first_token_in_front_is_a_frozen_token_of_weight_one():
    # With V = I the first token of a causal system never moves.
    model = pk.Attention(3, beta=7.0)
    x = pk.sphere.uniform(10, 3, seed=9)
    np.testing.assert_allclose(model.velocity(x[1:], x[:1]), model.velocity(x)[1:], atol=1e-14)


def test_causal_tokens_ignore_later_ones():
    model = random_model(3, beta=4.0, seed=6)
    x = pk.sphere.uniform(10, 3, seed=10)
    np.testing.assert_allclose(model.velocity(x)[:4], model.velocity(x[:4]), atol=1e-15)
    full = random_model(3, beta=4.0, seed=6, mask="full")
    assert worst(full.velocity(x)[:4], full.velocity(x[:4])) > 1e-2
