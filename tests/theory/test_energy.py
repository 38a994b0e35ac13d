import numpy as np
import pytest

import parkade as pk
from parkade.theory import sequential_energies


def naive(x, beta, frozen=(), weights=None):
    weights = np.ones(len(frozen)) if weights is None else weights
    return [
        -(
            sum(np.exp(beta * (x[k] @ x[j] - 1)) for j in range(k))
            + sum(a * np.exp(beta * (x[k] @ y - 1)) for a, y in zip(weights, frozen, strict=True))
        )
        / beta
        for k in range(len(x))
    ]


@pytest.mark.parametrize("d", [2, 3, 5])
def test_the_definition(d):
    x, frozen = pk.sphere.uniform(9, d, seed=d), pk.sphere.uniform(3, d, seed=d + 10)
    a = np.array([1.0, 2.5, 4.0])
    assert np.allclose(sequential_energies(x, 7.0), naive(x, 7.0), rtol=1e-13)
    assert sequential_energies(x, 7.0)[0] == 0
    got = sequential_energies(x, 7.0, frozen=frozen, frozen_weights=a)
    assert np.allclose(got, naive(x, 7.0, frozen, a), rtol=1e-13)
    got = sequential_energies(x, 7.0, frozen=frozen)
    assert np.allclose(got, naive(x, 7.0, frozen), rtol=1e-13)


def test_many_systems_at_once():
    x = pk.sphere.uniform(24, 3, seed=1).reshape(2, 3, 4, 3)
    together = sequential_energies(x, 4.0, frozen=x[0, 0])
    assert together.shape == (2, 3, 4)
    for i, j in np.ndindex(2, 3):
        assert np.array_equal(together[i, j], sequential_energies(x[i, j], 4.0, frozen=x[0, 0]))


@pytest.mark.parametrize("d", [2, 3, 4])
@pytest.mark.parametrize("with_frozen", [False, True])
def test_tokens_descend_their_energies(d, with_frozen):
    beta, step = 5.0, 1e-5
    x = pk.sphere.uniform(6, d, seed=d)
    extra = {}
    if with_frozen:
        extra = {"frozen": pk.sphere.uniform(2, d, seed=9), "frozen_weights": np.array([1.5, 3.0])}
    gradient = np.zeros_like(x)
    for k in range(len(x)):
        for v in np.linalg.svd(x[k][None])[2][1:]:  # an orthonormal basis of the tangent space
            sides = []
            for sign in (1, -1):
                y = x.copy()
                y[k] = np.cos(step) * x[k] + sign * np.sin(step) * v
                sides.append(sequential_energies(y, beta, **extra)[k])
            gradient[k] += (sides[0] - sides[1]) / (2 * step) * v
    # E_k is −(Z_k − 1)/β.
    z = 1 - beta * sequential_energies(x, beta, **extra)
    velocity = pk.Attention(d=d, beta=beta).velocity(x, **extra)
    assert np.abs(velocity + gradient / z[:, None]).max() < 1e-8


@pytest.mark.parametrize("d", [2, 3])
def test_energy_never_increases_among_tokens_at_rest(d):
    beta = 9.0
    frozen = pk.sphere.uniform(12, d, seed=1)
    for seed in range(5):
        x0 = pk.sphere.uniform(1, d, seed=100 + seed)
        times = np.linspace(0, 60, 200)
        model = pk.Attention(d=d, beta=beta)
        run = pk.simulate(model, x0, 60.0, times=times, tol=1e-9, frozen=frozen)
        energy = [sequential_energies(x, beta, frozen=frozen)[0] for x in run.tokens]
        assert np.diff(energy).max() < 1e-8
        assert energy[-1] < energy[0]


def test_bad_input_gets_a_sentence():
    x = pk.sphere.uniform(3, 2, seed=0)
    with pytest.raises(pk.InputError, match="beta must be > 0"):
        sequential_energies(x, 0.0)
    with pytest.raises(pk.InputError, match="row 4 has norm 2"):
        sequential_energies([x, x * [[1], [2], [1]]], 1.0)
    for wrong in (1.0, x[0], [[1.0], [1.0, 0.0]], np.empty((0, 2)), np.empty((2, 0, 2))):
        with pytest.raises(pk.InputError, match="tokens must"):
            sequential_energies(wrong, 1.0)
    with pytest.raises(pk.InputError, match="without frozen"):
        sequential_energies(x, 1.0, frozen_weights=[1.0])
    with pytest.raises(pk.InputError, match="one for each"):
        sequential_energies(x, 1.0, frozen=x, frozen_weights=[1.0, -1.0, 2.0])
