import itertools
import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given, settings
from support.common import random_rotation
from support.marks import many

import parkade as pk
from parkade import renyi_centers, strong_renyi_centers
from parkade.base import check
from parkade.theory import parking

TINY = [0.0, 5e-324, 1e-300, 1e-162, 1e-16, 1e-8]
LARGE = [math.pi / 2, math.pi - 1e-9, math.nextafter(math.pi, 0), math.pi]
SEEDS = st.integers(0, 2**32 - 1)


def root_of(model):
    return parking._root(model.product, model.product_error)


def naive(x, delta, model=None):
    """Both kinds of centres, from the definition: every token against every earlier one."""
    x = check.tokens(x)
    if model is not None:
        root = root_of(model)
        x = sum(x[:, [j]] * root[j] for j in range(x.shape[1]))
    renyi, strong = [], []
    for k, y in enumerate(x):
        square = np.zeros(k)
        if model is None and delta > math.pi / 2:
            for c in range(x.shape[1]):
                square = square + (x[:k, c] + y[c]) ** 2
            farther = square < (2 * math.cos(delta / 2)) ** 2
        else:
            for c in range(x.shape[1]):
                square = square + (x[:k, c] - y[c]) ** 2
            farther = square > (delta * delta if model else (2 * math.sin(delta / 2)) ** 2)
        if farther[renyi].all():
            renyi.append(k)
        if farther.all():
            strong.append(k)
    return renyi, strong


def agree(x, delta, model=None):
    renyi, strong = naive(x, delta, model)
    centers = renyi_centers(x, delta, model=model)
    assert centers.dtype == np.int64
    assert centers.tolist() == renyi
    assert strong_renyi_centers(x, delta, model=model).tolist() == strong


def around(values):
    """Each value and its two neighbouring floats, if they are valid distances."""
    near = {f(v) for v in values for f in (float, lambda v: np.nextafter(v, 0))}
    near |= {float(np.nextafter(v, 9)) for v in values}
    return sorted(v for v in near if 0 <= v <= math.pi)


def distances(x):
    i, j = np.triu_indices(len(x), 1)
    return np.unique(pk.sphere.distance(x[i], x[j]))


def many_scales(n, d, rng):
    """Nested clusters, from size 1 down to 1e-17, with duplicates and antipodes."""
    x = pk.sphere.uniform(n, d, rng)
    for k in range(1, n):
        kind, other = rng.random(), x[rng.integers(k)]
        if kind < 0.1:
            x[k] = other
        elif kind < 0.2:
            x[k] = -other
        elif kind < 0.8:
            step = rng.standard_normal(d) * 10.0 ** rng.uniform(-17, 0)
            x[k] = pk.sphere.normalize(rng.choice([-1, 1], p=[0.1, 0.9]) * other + step)
    return x


def bowl(d, rng, flat=False):
    """A model with a distance; a flat one ignores some directions."""
    root = rng.standard_normal((d - 1 if flat else d, d))
    turn = rng.standard_normal((d, d))  # the antisymmetric part does not change distances
    return pk.Attention(Q=root.T @ root + turn - turn.T, K=1.0)


# --- the fast ones against the definition -------------------------------------------------


@settings(max_examples=many(150, 2000))
@given(SEEDS, st.integers(1, 40), st.sampled_from([2, 3, 4, 8]), st.floats(-18, 0.4971))
@example(0, 1, 2, 0.0)
def test_tokens_at_many_scales(seed, n, d, exponent):
    x = many_scales(n, d, np.random.default_rng(seed))
    agree(x, 10.0**exponent)


@settings(max_examples=many(80, 1000))
@given(SEEDS, st.integers(1, 25), st.sampled_from([2, 3, 4, 8]), st.floats(-18, 1), st.booleans())
def test_the_distance_of_a_model(seed, n, d, exponent, flat):
    rng = np.random.default_rng(seed)
    x = many_scales(n, d, rng)
    agree(x, 10.0**exponent, bowl(d, rng, flat))


@pytest.mark.parametrize("d", [2, 3, 4, 8])
def test_the_extremes_of_delta(d):
    x = many_scales(60, d, np.random.default_rng(d))
    x = np.concatenate([x, -x[::-1], x[:5]])
    for delta in TINY + LARGE + around([1e-16, 1e-8, math.pi / 2]):
        agree(x, delta)
    for delta in [*TINY, 2.0, 1e200]:
        agree(x, delta, pk.Attention(d=d))


@pytest.mark.parametrize("d", [2, 3, 4])
def test_ties_at_every_distance(d):
    rng = np.random.default_rng(0)
    x = pk.sphere.uniform(12, d, rng)
    x = np.concatenate([x, -x[:3], x[:3]])[rng.permutation(18)]
    for delta in around(distances(x)):
        agree(x, delta)
    model = bowl(d, rng)
    u = x @ root_of(model)
    for delta in {np.linalg.norm(u[i] - u[j]) for i, j in itertools.combinations(range(18), 2)}:
        for tie in (delta, np.nextafter(delta, 0), np.nextafter(delta, 9)):
            agree(x, tie, model)


@pytest.mark.parametrize("corners", [2, 3, 4, 5, 6, 7, 8, 12, 16, 30, 64, 100, 256])
def test_ties_of_regular_polygons(corners):
    phi = 2 * np.pi * np.arange(corners) / corners
    rng = np.random.default_rng(corners)
    for d, turn in itertools.product((2, 3), (0.0, 0.1)):
        x = np.zeros((corners, d))
        x[:, -2:] = pk.sphere.from_angles(phi + turn)
        x = x[rng.permutation(corners)]
        spacing = distances(x)
        for delta in around([*spacing[:3], *spacing[-2:], 2 * np.pi / corners]):
            agree(x, delta)


def test_ties_of_lattices_on_the_sphere():
    axis = np.arange(-2, 3)
    lattice = [p for p in itertools.product(axis, repeat=3) if any(p)]
    x = pk.sphere.normalize(np.array(lattice, dtype=float))
    x = x[np.random.default_rng(1).permutation(len(x))]
    for delta in around(distances(x)[::60]):
        agree(x, delta)


@pytest.mark.parametrize("d", [2, 3, 5])
@pytest.mark.parametrize("delta", [*TINY, 0.1, 2.0, *LARGE])
def test_equal_tokens_have_one_center(d, delta):
    x = np.repeat(pk.sphere.uniform(1, d, seed=0), 50, axis=0)
    for model in (None, bowl(d, np.random.default_rng(0))):
        for centers in (renyi_centers, strong_renyi_centers):
            assert centers(x, delta, model=model).tolist() == [0]
            assert centers(x[:1], delta, model=model).tolist() == [0]


@pytest.mark.parametrize("at", [0.0, math.pi / 2, math.pi, -math.pi / 2])
def test_tokens_closer_than_the_rounding_of_angles(at):
    # At (−1, 0) the angle resolves 4e-16, the second coordinate is much finer.
    k = np.random.default_rng(0).permutation(300)
    x = np.stack([np.ones(300), 1e-20 * k], axis=1)
    x = x @ np.array(
        [[round(math.cos(at)), round(math.sin(at))], [round(-math.sin(at)), round(math.cos(at))]]
    )
    for delta in (0.0, 1e-20, 3.5e-20, 1e-18):
        agree(x, delta)


@pytest.mark.parametrize(("d", "delta"), [(2, 1e-3), (2, 0.3), (3, 0.05), (3, 0.6), (4, 0.2)])
def test_more_tokens(d, delta):
    x = pk.sphere.uniform(3000, d, seed=4)
    x[1000:2000] = pk.sphere.normalize(x[0] + 0.02 * x[1000:2000])  # crowded and not
    agree(x, delta)


def test_memory_order_and_scale_within_rounding_do_not_matter():
    x = pk.sphere.uniform(500, 3, seed=1)
    expected = renyi_centers(x, 0.1)
    np.testing.assert_array_equal(renyi_centers(np.asfortranarray(x), 0.1), expected)
    np.testing.assert_array_equal(renyi_centers(x[:, ::-1], 0.1), expected)
    np.testing.assert_array_equal(renyi_centers(x * (1 + 1e-9), 0.1), expected)
    np.testing.assert_array_equal(renyi_centers(x.tolist(), 0.1), expected)


# --- what centres are ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("d", "delta"), [(2, 0.01), (2, 1.0), (3, 0.1), (3, 1.0), (4, 0.4), (8, 1.2), (3, 2.0)]
)
def test_centers_pack_and_cover(d, delta):
    x = pk.sphere.uniform(2000, d, seed=2)
    renyi, strong = renyi_centers(x, delta), strong_renyi_centers(x, delta)
    assert renyi[0] == strong[0] == 0
    assert np.all(np.diff(renyi) > 0)
    assert set(strong) <= set(renyi)
    gaps = pk.sphere.distance(x[:, None], x[renyi])
    assert np.all(gaps.min(axis=1) <= delta)
    assert np.all(gaps[renyi] + 9 * np.eye(len(renyi)) > delta)


@pytest.mark.parametrize("d", [2, 3, 8])
@pytest.mark.parametrize("delta", [0.0, 0.02, 0.4, 2.0])
def test_later_tokens_change_nothing(d, delta):
    x = many_scales(300, d, np.random.default_rng(3))
    for model in (None, bowl(d, np.random.default_rng(0))):
        for centers in (renyi_centers, strong_renyi_centers):
            every = centers(x, delta, model=model)
            for k in (1, 2, 7, 50, 299):
                assert centers(x[:k], delta, model=model).tolist() == every[every < k].tolist()


@pytest.mark.parametrize(("d", "delta"), [(2, 0.01), (3, 0.1), (5, 0.5), (3, 2.0)])
def test_rotations_change_nothing(d, delta):
    x = pk.sphere.uniform(400, d, seed=6)
    assert np.min(np.abs(distances(x) - delta)) > 1e-9  # no ties
    y = x @ random_rotation(d)
    for centers in (renyi_centers, strong_renyi_centers):
        np.testing.assert_array_equal(centers(x, delta), centers(y, delta))


def test_the_distance_of_the_identity_is_the_chord():
    x = pk.sphere.uniform(500, 3, seed=0)
    for delta in (0.05, 0.5, 1.5):
        same = renyi_centers(x, 2 * math.sin(delta / 2), model=pk.Attention(d=3))
        np.testing.assert_array_equal(renyi_centers(x, delta), same)
    fourfold = pk.Attention(d=3, Q=2.0, K=2.0)
    np.testing.assert_array_equal(
        renyi_centers(x, 0.5, model=pk.Attention(d=3)), renyi_centers(x, 1.0, model=fourfold)
    )


@pytest.mark.parametrize("d", [2, 3, 8])
def test_the_root_gives_the_distance_of_attention(d):
    rng = np.random.default_rng(d)
    x, y = pk.sphere.uniform(2, d, rng)
    for flat in (False, True):
        model = bowl(d, rng, flat)
        square = (model.Q @ (x - y)) @ (model.K @ (x - y))
        assert np.sum(((x - y) @ root_of(model)) ** 2) == pytest.approx(square, rel=1e-10)
    # The weight of y relative to the weight of x itself, for tokens of equal S-norm.
    model = pk.Attention(d=d, beta=3.0, Q=1.5, K=0.5)
    scores = model.beta * np.array([(model.Q @ x) @ (model.K @ z) for z in (x, y)])
    square = np.sum(((x - y) @ root_of(model)) ** 2)
    assert math.exp(scores[1] - scores[0]) == pytest.approx(math.exp(-3.0 * square / 2))


def test_zero_attention_gives_zero_distance():
    x = pk.sphere.uniform(20, 3, seed=0)
    assert renyi_centers(x, 0.0, model=pk.Attention(d=3, Q=0.0)).tolist() == [0]


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("delta", [0.0, 1e-5, 1e-3, 1e-2, 0.1, 1.0, 3.0])
def test_work_grows_with_the_number_of_tokens_only(d, delta):
    crowd = pk.sphere.normalize(np.eye(d)[0] + 1e-4 * pk.sphere.uniform(20_000, d, seed=1))
    for x in (pk.sphere.uniform(20_000, d, seed=0), crowd, np.repeat(crowd[:10_000], 2, axis=0)):
        assert parking._fates(x, delta, None, strong=True)[1] < 40 * len(x)


# --- refusals -----------------------------------------------------------------------------


@pytest.mark.parametrize("centers", [renyi_centers, strong_renyi_centers])
@pytest.mark.parametrize(
    ("delta", "model", "message"),
    [
        (-0.1, None, "angle from 0 to π, got -0.1"),
        (-5e-324, None, "angle from 0 to π"),
        (math.nextafter(math.pi, 4), None, "angle from 0 to π"),
        (180, None, "pass radians"),
        (math.nan, None, "delta must be finite"),
        (math.inf, pk.Attention(d=3), "delta must be finite"),
        ([0.1, 0.2], None, "one number"),
        ("x", None, "delta must be a real number"),
        (-1.0, pk.Attention(d=3), "delta must be ≥ 0, got -1"),
        (0.1, pk.Attention(d=2), "d=2 columns like the model"),
        (0.1, pk.Attention(Q=[1, 1, -0.25]), "no negative eigenvalue, got -0.25; omit model"),
        (0.1, 64.0, "must be one attention head such as parkade.Attention, got float"),
    ],
)
def test_bad_input_is_refused(centers, delta, model, message):
    with pytest.raises(pk.InputError, match=message):
        centers(pk.sphere.uniform(5, 3, seed=0), delta, model=model)


@pytest.mark.parametrize("tokens", [[[1.0, 1.0]], [[math.nan, 1.0]], [], [1.0, 0.0]])
def test_bad_tokens_are_refused(tokens):
    with pytest.raises(pk.InputError, match="tokens"):
        renyi_centers(tokens, 0.1)


def test_a_distance_may_miss_zero_by_rounding():
    root = np.random.default_rng(0).standard_normal((2, 6))
    model = pk.Attention(Q=root.T @ root, K=1.0)
    assert np.linalg.eigvalsh(model.Q)[0] < 0
    agree(pk.sphere.uniform(50, 6, seed=0), 0.3, model)
