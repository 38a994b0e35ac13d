"""The compiled sums against the definition, and where the definition loses digits, mpmath."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.common import EPS, random_model, random_rotation, worst
from support.hard import exact_velocity
from support.steps import velocity_inside

import parkade as pk
from parkade.engine.compile.simd import LANES, MAX_SCORE
from parkade.engine.compile.threads import single_threaded_blas
from parkade.engine.flow.velocity import velocity
from parkade.engine.sums import pairwise
from parkade.engine.system import SMALL_D, unrolled
from parkade.solve.lowering.lower import prepare

# --- fast sums against Attention.velocity ------------------------------------------------


def place(kind, n, d, seed):
    """n tokens: scattered, in tight clusters, or full of duplicates and antipodes."""
    rng = np.random.default_rng(seed)
    x = pk.sphere.uniform(n, d, seed=rng)
    if kind == "scattered":
        return x
    centres = x[rng.integers(min(n, 3), size=n)]
    if kind == "clustered":
        return pk.sphere.normalize(centres + 1e-9 * rng.standard_normal((n, d)))
    return centres * rng.choice([-1.0, 1.0], size=(n, 1))


def bound(model, n):
    """Largest difference rounding can make between two ways to compute a velocity.

    A score of size s = β|Q||K| carries an error of a few d·s·EPS, which is the relative error
    of its weight; means of n weighted terms of size |V| add n·EPS.
    """
    Q, K, V = (np.linalg.norm(m, 2) for m in (model.Q, model.K, model.V))
    return 4 * EPS * (n + 8 + (model.d + 8) * model.beta * Q * K) * V


SIZES = [1, 2, 3, 15, 16, 17, 31, 33, 127, 128, 129, 255, 256, 257, 300]


@settings(max_examples=150)
@given(
    d=st.sampled_from([2, 3, 4, 5, 6, 7, 8, 9, 12, 40]),
    n=st.one_of(st.sampled_from(SIZES), st.integers(1, 300)),
    m=st.sampled_from([0, 0, 1, 2, 17]),
    beta=st.one_of(st.sampled_from([0.0, 1.0, 64.0, 400.0, 1e4]), st.floats(0, 1e4)),
    identity=st.booleans(),
    mask=st.sampled_from(["causal", "full"]),
    kind=st.sampled_from(["scattered", "clustered", "duplicated"]),
    seed=st.integers(0, 2**32 - 1),
)
@example(2, 300, 300, 1e4, False, "causal", "scattered", 1)
@example(8, 257, 257, 1e4, False, "causal", "scattered", 1)
@example(8, 300, 300, 1e4, False, "full", "clustered", 1)
def test_fast_sums_match_the_definition(d, n, m, beta, identity, mask, kind, seed):
    model = random_model(d, beta, seed, mask)
    if identity:
        model = pk.Attention(d, beta, mask=mask)
    x = place(kind, n, d, seed)
    frozen, weights = None, None
    if m:
        frozen = pk.sphere.uniform(m, d, seed=seed)
        weights = np.random.default_rng(seed).uniform(0.5, 20, m)
    fast = velocity(prepare(model, frozen, weights), x)
    assert worst(fast, model.velocity(x, frozen, weights)) <= bound(model, n + 20 * m)


@pytest.mark.parametrize("d", [2, 3, 8, 40])
def test_velocity_is_tangent(d):
    model = random_model(d, beta=10.0, seed=d)
    x = pk.sphere.uniform(200, d, seed=1)
    v = velocity(prepare(model), x)
    assert np.abs(np.sum(x * v, axis=1)).max() < 4 * d * EPS * np.linalg.norm(model.V, 2)


@pytest.mark.parametrize("d", [2, 5, 8, 40])
def test_shifted_sums_stay_finite(d):
    # 1e4 times random Q, K: scores of 1e5, far beyond the exponent range.
    model = random_model(d, beta=1e4, seed=3, scale=3.0)
    v = velocity(prepare(model), pk.sphere.uniform(300, d, seed=2))
    assert np.isfinite(v).all()
    assert np.abs(v).max() > 0.1


# --- forces far below rounding -----------------------------------------------------------


def lone_leader(d, angle, n=20, seed=4):
    """n−1 tokens within 0.05 of a pole, and a last one at `angle` from it."""
    rng = np.random.default_rng(seed)
    x = np.zeros((n, d))
    x[:, 0] = 1
    x[-1, :2] = np.cos(angle), np.sin(angle)
    x[:-1] += 0.05 * rng.uniform(-1, 1, (n - 1, d)) / np.sqrt(d)
    return pk.sphere.normalize(x) @ random_rotation(d, seed)


@pytest.mark.parametrize("d", [2, 3, 5, 8, 12, 40])
@pytest.mark.parametrize(
    ("beta", "angle", "size"),
    [(64.0, 1.0, 1e-10), (300.0, 0.8, 1e-35), (300.0, 0.97, 1e-50), (300.0, 2.5, 1e-200)],
)
def test_tiny_forces_keep_their_relative_precision(d, beta, angle, size):
    model = pk.Attention(d, beta)
    x = lone_leader(d, angle)
    exact = exact_velocity(model, x)
    assert np.linalg.norm(exact) < size
    fast = velocity(prepare(model), x)[-1]
    # Scores are 2β at most and good to a few EPS each; d adds to the number of roundings.
    assert np.linalg.norm(fast - exact) <= 8 * d * beta * EPS * np.linalg.norm(exact)


@pytest.mark.parametrize("d", [3, 8])
def test_tiny_forces_of_frozen_tokens_keep_their_relative_precision(d):
    model = pk.Attention(d, 300.0)
    x = lone_leader(d, 0.97)
    frozen, weights = x[:-1], np.linspace(1, 9, len(x) - 1)
    exact = exact_velocity(model, x[-1:], frozen, weights)
    fast = velocity(prepare(model, frozen, weights), x[-1:])[-1]
    assert np.linalg.norm(fast - exact) <= 8 * d * 300 * EPS * np.linalg.norm(exact)


@pytest.mark.parametrize("d", [2, 3, 8])
@pytest.mark.parametrize("scale", [1.0, 2.5])
def test_a_leader_alone_in_its_cluster_does_not_feel_its_followers(d, scale):
    # The first token and the first of a far cluster whose pull underflows: exactly at rest.
    model = pk.Attention(d, beta=1e4, V=scale)
    x = np.repeat([np.eye(d)[0], -np.eye(d)[0]], 40, axis=0)
    assert not velocity(prepare(model), x).any()


# --- the same bits, however the work is shared out ---------------------------------------


@pytest.fixture
def one_blas_thread():
    with single_threaded_blas():
        yield


def serial(system, x):
    out = np.empty_like(x)
    pairwise.velocity_rows(system, unrolled(x.shape[1]), x, 0, len(x), out)
    return out


@pytest.mark.parametrize("mask", ["causal", "full"])
@pytest.mark.parametrize("share", [0.0, 0.03, 0.5, 1.0])
@pytest.mark.parametrize("d", [2, 3, 8, 12])
@pytest.mark.usefixtures("one_blas_thread")
def test_bits_do_not_depend_on_threads_chunks_batches_or_engines(d, share, mask):
    x = pk.sphere.uniform(3 * 300, d, seed=6).reshape(3, 300, d)
    # β such that a given share of the tokens has scores that need a shift.
    a = x @ prepare(random_model(d, 1.0, seed=5)).query.T
    reach = np.linalg.norm(a, axis=-1) - np.sum(a * x, axis=-1)
    beta = 0.999999 * (MAX_SCORE / np.quantile(reach, 1 - share)).item()
    assert np.mean(beta * reach > MAX_SCORE) == pytest.approx(share, abs=0.01)
    system = prepare(random_model(d, beta, seed=5, mask=mask))
    one_by_one = np.stack([serial(system, part) for part in x])
    for count in (1, 2, 3):
        assert np.array_equal(velocity(system, x, threads=count), one_by_one)
        assert np.array_equal(velocity(system, x[1], threads=count), one_by_one[1])
    assert np.array_equal(velocity_inside(system, x[1]), one_by_one[1])


@pytest.mark.parametrize("d", [2, 8])
@pytest.mark.usefixtures("one_blas_thread")
def test_first_rows_do_not_depend_on_later_tokens(d):
    # To the bit for d < 8; BLAS may round a taller product differently.
    system = prepare(random_model(d, 20.0, seed=7))
    x = pk.sphere.uniform(300, d, seed=8)
    cut, whole = serial(system, x[:100]), serial(system, x)[:100]
    assert worst(cut, whole) <= (0 if d < SMALL_D else 100 * EPS)


def test_compiled_shape_constants():
    # Examples above sit on these boundaries; move them along if the constants move.
    assert {LANES - 1, LANES, LANES + 1} <= set(SIZES)
    for size in (pairwise._ROWS, pairwise._COLUMNS, pairwise.CHUNK):
        assert {size - 1, size, size + 1} <= set(SIZES)
