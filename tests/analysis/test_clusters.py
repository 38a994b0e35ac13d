"""Clusters of one moment, by links, and what centres consume."""

import math
from functools import partial

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, example, given
from support.common import random_rotation

import parkade as pk
from parkade.analysis import clusters
from parkade.analysis.clusters import cluster_labels, consumption
from parkade.base import check
from parkade.base.chunks import chunks

ANGLE = st.one_of(
    st.floats(-math.pi, math.pi),
    st.sampled_from([0.0, math.pi, -math.pi, math.pi / 2, 3.14, -3.14, 1e-9, 0.1]),
)


def brute_labels(x, radius):
    """Components by repeated relaxation: take the smallest index in reach until it converges."""
    linked = pk.sphere.distance(x[:, None], x[None]) <= radius
    labels = np.arange(len(x))
    while True:
        new = np.where(linked, labels, len(x)).min(axis=1)
        if np.array_equal(new, labels):
            return labels
        labels = new


def no_ties(x, radius):
    """Whether no distance is so close to the radius that rounding matters."""
    gaps = pk.sphere.distance(x[:, None], x[None])[np.triu_indices(len(x), 1)]
    return bool(np.all((np.abs(gaps - radius) > 1e-9) | ((gaps == 0) & (radius == 0))))


@given(st.lists(ANGLE, min_size=1, max_size=25), st.floats(0, math.pi), st.booleans())
@example([math.pi, -math.pi, 3.0], 0.2, False)  # across the cut
@example([0.0, math.pi], 3.1, False)  # antipodes
@example([0.0, 0.0, 1.0, 0.0], 0.0, False)  # duplicates only
@example([0.0, math.pi, 1.5, -1.5], math.pi, False)
def test_labels_on_the_circle_match_brute_force(angles, radius, twice):
    x = pk.sphere.from_angles(angles * (1 + twice))
    assume(no_ties(x, radius))
    np.testing.assert_array_equal(cluster_labels(x, radius), brute_labels(x, radius))


@given(
    st.integers(1, 30), st.integers(3, 6), st.floats(0, math.pi), st.integers(0, 99), st.booleans()
)
@example(20, 3, 0.0, 0, True)
@example(20, 3, math.pi, 0, True)
def test_labels_on_spheres_match_brute_force(n, d, radius, seed, mirrored):
    x = pk.sphere.uniform(n, d, seed)
    if mirrored:
        x = np.concatenate([x, x[::-1], -x])  # duplicates and antipodes
    assume(no_ties(x, radius))
    np.testing.assert_array_equal(cluster_labels(x, radius), brute_labels(x, radius))


@pytest.mark.parametrize("d", [2, 3, 7])
def test_a_chain_is_one_cluster_and_breaks_at_its_widest_link(d):
    angles = np.array([0.0, 0.1, 0.2, 0.31, 0.4, 0.5])[[3, 0, 5, 1, 4, 2]]
    x = np.zeros((6, d))
    x[:, :2] = pk.sphere.from_angles(angles)
    x = x @ random_rotation(d)
    assert cluster_labels(x, 0.12).tolist() == [0] * 6
    assert cluster_labels(x, 0.105).tolist() == [0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("radius", [0.0, 0.1, 0.3, 3.1, math.pi])
def test_labels_of_many_states_are_those_of_each(monkeypatch, d, radius):
    monkeypatch.setattr(clusters, "chunks", partial(chunks, most=90))  # three states at once
    states = pk.sphere.uniform(8 * 30, d, seed=2).reshape(8, 30, d)
    states[3] = states[3, 0]  # without a gap
    labels = clusters.linked(states, radius)
    expected = [brute_labels(x, radius) for x in states]
    np.testing.assert_array_equal(labels, expected)


def test_labels_of_many_tokens_are_quick_and_right():
    x = pk.sphere.uniform(100_000, 2, seed=1)
    labels = cluster_labels(x, 1e-4)
    gaps = np.diff(np.sort(pk.sphere.angles(x)))
    assert abs(len(np.unique(labels)) - np.sum(gaps > 1e-4)) <= 1
    assert np.all(labels <= np.arange(len(x)))


TIGHT = [0.0, 1e-300, 1e-20, 1e-17, 1e-16, 1e-8]


def test_equal_tokens_are_linked_though_others_have_their_angle():
    x = np.array([[0.0, 1.0], [1e-20, 1.0], [0.0, 1.0], [1.0, 0.0]])
    assert cluster_labels(x, 0.0).tolist() == [0, 1, 0, 3]
    assert cluster_labels(np.pad(x, ((0, 0), (0, 1))), 0.0).tolist() == [0, 1, 0, 3]
    assert cluster_labels(x, 1e-19).tolist() == [0, 0, 0, 3]
    many = clusters.linked(np.stack([x, x[::-1], x[[1, 0, 3, 0]], -x]), 0.0)
    assert many.tolist() == [[0, 1, 0, 3], [0, 1, 2, 1], [0, 1, 2, 1], [0, 1, 0, 3]]
    signs = [[-1.0, 0.0], [-1.0, 1e-20], [-1.0, -0.0], [-1.0, -1e-20], [-1.0, 0.0]]
    assert cluster_labels(signs, 0.0).tolist() == [0, 1, 0, 3, 0]


@pytest.mark.parametrize("d", [2, 3])
def test_distances_whose_squares_underflow_count_as_zero(d):
    x = np.zeros((3, d))
    x[:, :2] = [[0.0, 1.0], [1e-162, 1.0], [1e-161, 1.0]]
    assert cluster_labels(x, 0.0).tolist() == [0, 0, 2]
    assert pk.clusters.count_by_radius(x, 0.0).counts.tolist() == [2]


@pytest.mark.parametrize("turn", range(4))
def test_tokens_much_closer_than_angles_can_tell_are_linked(turn):
    for seed in range(50):
        rng = np.random.default_rng(seed)
        tiny = 10.0 ** rng.integers(-21, -15, 12) * rng.integers(-3, 4, 12)
        x = np.stack([np.ones(12), tiny], axis=1) @ np.linalg.matrix_power([[0, 1], [-1, 0]], turn)
        for radius in (0.0, 1.5e-21, 1.5e-19, 1.5e-17):
            np.testing.assert_array_equal(cluster_labels(x, radius), brute_labels(x, radius))


def one_ulp_apart(seed):
    """Unit vectors a, b, a, −a on the circle, with b next to a."""
    rng = np.random.default_rng(seed)
    a = pk.sphere.uniform(1, 2, seed=rng)[0]
    while True:
        b = a.copy()
        i = rng.integers(2)
        b[i] = np.nextafter(b[i], rng.choice([-2.0, 2.0]))
        x = np.array([a, b, a, -a])
        if not np.array_equal(*check.tokens(x)[:2]):
            return x
        a = pk.sphere.uniform(1, 2, seed=rng)[0]


def test_neighbours_one_ulp_apart_match_brute_force():
    for seed in range(200):
        x = one_ulp_apart(seed)
        for radius in TIGHT:
            expected = brute_labels(check.tokens(x), radius)
            assert cluster_labels(x, radius).tolist() == expected.tolist()
            counts = pk.clusters.count_by_radius(x, radius).counts
            assert counts.tolist() == [len(np.unique(expected))]


@pytest.mark.parametrize("radius", [-0.1, 3.2, math.nan, "x"])
def test_labels_refuse_a_bad_radius(radius):
    with pytest.raises(pk.InputError, match="radius"):
        cluster_labels(pk.sphere.uniform(3, 2, seed=0), radius)


def test_labels_refuse_tokens_off_the_sphere():
    with pytest.raises(pk.InputError, match="unit vectors"):
        cluster_labels([[1.0, 1.0]], 0.1)


@pytest.mark.parametrize("d", [2, 5])
def test_consumption_matches_the_definition(d):
    x0 = pk.sphere.uniform(25, d, seed=2)
    run = pk.simulate(pk.Attention(d=d, beta=16.0), x0, 30.0)
    centers = np.array([0, 3, 7])
    for times in (None, np.linspace(0, 30, 7)):
        at = run.tokens if times is None else run.at(times)
        gaps = pk.sphere.distance(at[:, :, None], at[:, None, centers])
        expected = (gaps <= 0.3).any(axis=2).mean(axis=1)
        np.testing.assert_array_equal(consumption(run, centers, 0.3, times), expected)


def test_consumption_by_no_center_and_by_all():
    run = pk.simulate(pk.Attention(d=2), pk.sphere.uniform(5, 2, seed=2), 1.0)
    assert consumption(run, [], 0.1, times=[0.5]).tolist() == [0]
    assert consumption(run, range(5), 0.0, times=[0.0, 1.0]).tolist() == [1, 1]
    assert consumption(run, [2], math.pi, times=1.0).tolist() == [1]


@pytest.mark.parametrize(
    ("centers", "match"), [([5], "from 0 to 4"), ([-1], "got -1"), ([0.5], "indices"), (3, "list")]
)
def test_consumption_refuses_bad_centers(centers, match):
    run = pk.simulate(pk.Attention(d=2), pk.sphere.uniform(5, 2, seed=2), 1.0)
    with pytest.raises(pk.InputError, match=match):
        consumption(run, centers, 0.1)
