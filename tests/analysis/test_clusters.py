import dataclasses
import itertools
import json
import math
import re
from functools import partial

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, example, given
from support.common import random_rotation

import parkade as pk
from parkade.analysis import clusters
from parkade.analysis.clusters import cluster_labels, consumption, default_radius, merge_tree
from parkade.base import check
from parkade.base.chunks import chunks
from parkade.theory.merge_tree import Merge, MergeTree

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


def synthetic(times, angles, beta=64.0):
    """A run without dense output whose tokens have these angles, (T, n)."""
    model = pk.Attention(d=2, beta=beta)
    x = pk.sphere.from_angles(np.asarray(angles, dtype=float))
    run = pk.simulate(model, x[0], 1.0, times="final")
    return dataclasses.replace(run, times=np.asarray(times, dtype=float), tokens=x)


@pytest.fixture(scope="module")
def runs():
    """The same run at two tolerances."""
    x0 = pk.sphere.uniform(60, 2, seed=0)
    model = pk.Attention(d=2, beta=25.0)
    return [pk.simulate(model, x0, 1e30, method="implicit", tol=tol) for tol in (1e-6, 1e-8)]


# --- labels -------------------------------------------------------------------------------


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


# --- merge tree of runs made by hand ------------------------------------------------------


def test_arrivals_leaders_and_sizes_of_a_known_run():
    times = [0, 1, 10, 100, 1000, 1e4]
    angles = [
        [0.0, 1.0, 2.0, 2.5],
        [0.0, 1.0, 2.0, 2.4],
        [0.0, 1.0, 2.0, 2.0],  # 3 joins 2
        [0.0, 1.0, 1.0, 1.0],  # both join 1
        [0.0, 1.0, 1.0, 1.0],
        [0.0, 0.0, 0.0, 0.0],  # and all of them 0
    ]
    tree = merge_tree(synthetic(times, angles))
    assert tree.events == (Merge(10, 3, 2, 1), Merge(100, 2, 1, 2), Merge(1e4, 1, 0, 3))
    assert tree.count([0, 1, 9.9, 10, 99, 100, 9999, 1e4]).tolist() == [4, 4, 4, 3, 3, 2, 2, 1]
    assert tree.arrivals.tolist() == [math.inf, 1e4, 100, 10]
    assert tree.leaders(50).tolist() == [0, 1, 2]
    assert tree.labels(50).tolist() == [0, 1, 2, 2]
    assert tree.labels(1e4).tolist() == [0] * 4


def test_a_token_that_leaves_for_long_arrives_once_and_last():
    times = [0, 1, 10, 20, 30, 100]
    near = [1, 0, 0.5, 0.5, 0, 0]  # near at 1, away from 10 to 30
    tree = merge_tree(synthetic(times, [[0.0, a] for a in near]))
    assert [e.time for e in tree.events] == [30]


def test_a_wobble_during_a_merge_makes_no_new_arrival():
    # Cluster {1, 2} moves to 0 at t=1e20; 2 lags behind for less than a float spacing.
    times = [0, 1, 50, 1e10, 1e20, 1e20, 1e20, 1e25]
    angles = [
        [0.0, 1.0, 2.0],
        [0.0, 1.0, 1.5],
        [0.0, 1.0, 1.0],
        [0.0, 1.0, 1.0],
        [0.0, 0.8, 0.9],
        [0.0, 0.0, 0.4],
        [0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0],
    ]
    tree = merge_tree(synthetic(times, angles))
    assert tree.events == (Merge(50, 2, 1, 1), Merge(1e20, 1, 0, 2))
    assert tree.count(1e15) == 2


def test_a_token_that_changes_clusters_arrives_at_the_second():
    # Token 2 is with 1 at t=10, alone at 11 and with 0 from 12 on.
    times = [0, 10, 11, 12, 100, 1000]
    angles = [[0, 1.0, a] for a in (2.0, 1.0, 0.5, 0.0, 0.0, 0.0)]
    assert merge_tree(synthetic(times, angles)).events == (Merge(12, 2, 0, 1),)


def test_tokens_that_start_together_joined_at_the_start():
    tree = merge_tree(synthetic([0, 10, 100], [[0.0, 0.001, 1.0]] * 3))
    assert tree.events == (Merge(0, 1, 0, 1),)
    assert tree.count(0) == 2


def test_tokens_that_never_merge():
    tree = merge_tree(synthetic([0, 1e3], [[0.5]] * 2))
    assert tree.events == ()
    assert tree.count(5) == 1
    assert tree.to_newick() == "0:3;"


def test_only_the_end_was_saved():
    run = pk.simulate(pk.Attention(d=2, beta=16.0), pk.sphere.uniform(30, 2, seed=1), 50.0)
    end = dataclasses.replace(run, times=run.times[-1:], tokens=run.tokens[-1:], dense=None)
    tree = merge_tree(end)
    assert tree.count(50.0) == len(np.unique(cluster_labels(run.final, tree.radius)))
    assert tree.plateaus == ()


def test_plateaus_last_a_factor_and_the_last_is_open():
    events = (Merge(30, 4, 0, 1), Merge(40, 3, 0, 1), Merge(500, 2, 1, 1), Merge(600, 1, 0, 2))
    tree = MergeTree(5, 0.0, 1e4, 0.1, 2.0, events)
    assert [(p.clusters, p.start, p.end, p.open) for p in tree.plateaus] == [
        (5, 0, 30, False),  # counted from t=10, when clusters have formed: a factor 3
        (3, 40, 500, False),
        (1, 600, 1e4, True),
    ]
    assert tree.plateaus[1].lifetime == 460
    assert tree.plateaus[1].leaders == (0, 1, 2)
    strict = dataclasses.replace(tree, persistence=15.0)
    assert [p.clusters for p in strict.plateaus] == [1]


def test_a_state_seen_once_is_not_a_plateau():
    times = [0, 10, 100, 1000, 1e4]
    tree = merge_tree(synthetic(times, [[0, 1, 2], [0, 1, 1], [0, 1, 1], [0, 0, 0], [0, 0, 0]]))
    assert [(p.clusters, p.start, p.end) for p in tree.plateaus] == [(2, 10, 1e3), (1, 1e3, 1e4)]
    times = [0, 30, 100, 1000]
    tree = merge_tree(synthetic(times, [[0, 1, 2], [0, 1, 2], [0, 1, 1], [0, 0, 0]]))
    assert [p.clusters for p in tree.plateaus] == [3]


# --- merge tree of real runs --------------------------------------------------------------


def test_counts_only_fall_and_tokens_are_conserved(runs):
    tree = merge_tree(runs[0])
    counts = tree.count(runs[0].times)
    assert np.all(np.diff(counts) <= 0)
    assert counts[-1] == 1
    assert len(tree.events) == tree.n - 1
    assert tree.leaders(1e30).tolist() == [0]
    times = [e.time for e in tree.events]
    assert times == sorted(times)
    # Every token arrives at token 0 once, with the cluster it belongs to.
    assert sum(e.size for e in tree.events if e.into == 0) == tree.n - 1


def test_the_tree_agrees_with_the_geometry_in_the_middle_of_plateaus(runs):
    tree = merge_tree(runs[0])
    assert len(tree.plateaus) >= 3
    for plateau in tree.plateaus:
        middle = math.sqrt(plateau.start * plateau.end)
        labels = cluster_labels(runs[0].at(middle), tree.radius)
        assert tuple(np.unique(labels)) == plateau.leaders
        assert np.mean(labels != tree.labels(middle)) <= 0.02


@pytest.mark.parametrize("other", ["tolerance", "a third", "threefold"])
def test_late_merges_do_not_depend_on_tolerance_or_radius(runs, other):
    tree = merge_tree(runs[0])
    if other == "tolerance":
        twin, since = merge_tree(runs[1]), tree.plateaus[0].start
    else:
        twin, since = merge_tree(runs[0], tree.radius * (1 / 3 if other == "a third" else 3)), 1e3
    late, late_twin = ([e for e in x.events if e.time > 1.5 * since] for x in (tree, twin))
    assert len(late) >= 2
    assert [(e.absorbed, e.into) for e in late] == [(e.absorbed, e.into) for e in late_twin]
    for one, two in zip(late, late_twin, strict=True):
        assert two.time == pytest.approx(one.time, rel=1e-3)


def test_arrivals_are_found_between_steps(runs):
    tree = merge_tree(runs[0])
    chord = 2 * math.sin(tree.radius / 2)
    for event in [e for e in tree.events if 1 < e.time < 1e10][-5:]:
        x = runs[0].at(event.time)
        nearest = np.linalg.norm(x[: event.absorbed] - x[event.absorbed], axis=1).min()
        assert nearest == pytest.approx(chord, rel=1e-4)


def test_without_dense_output_arrivals_are_saved_times(runs):
    run = runs[0]
    some = dataclasses.replace(run, times=run.times[::20], tokens=run.tokens[::20], dense=None)
    fine, coarse = merge_tree(run), merge_tree(some)
    late = [e for e in fine.events if e.time > 1e3]
    for event in late:
        match = next(e for e in coarse.events if e.absorbed == event.absorbed)
        after = some.times[np.searchsorted(some.times, event.time)]
        assert event.time * (1 - 1e-9) <= match.time <= after * 10


def test_spheres_and_the_full_mask_work_too():
    for mask in ("causal", "full"):
        x0 = pk.sphere.uniform(20, 3, seed=0)
        run = pk.simulate(pk.Attention(d=3, beta=4.0, mask=mask), x0, 200.0)
        tree = merge_tree(run)
        assert tree.count(200.0) == len(np.unique(cluster_labels(run.final, tree.radius)))


def test_the_default_radius_is_a_tenth_of_the_shortest_range():
    assert default_radius(pk.Attention(d=2, beta=64.0)) == pytest.approx(0.1 / 8)
    assert default_radius(pk.Attention(d=2, beta=0.0)) == 0.1
    assert default_radius(pk.Attention(beta=4.0, Q=[2, 1], K=[8, 1])) == pytest.approx(0.1 / 8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"radius": 0}, "radius must be > 0"),
        ({"radius": 4}, "below π"),
        ({"persistence": 1}, "persistence must be > 1"),
        ({"halvings": 0}, "halvings must be a whole number ≥ 1, got 0"),
    ],
)
def test_merge_tree_refuses_bad_input(arguments, message):
    with pytest.raises(pk.InputError, match=message):
        merge_tree(synthetic([0, 1], [[0.0, 1.0]] * 2), **arguments)


def test_wrong_objects_and_times_are_refused():
    with pytest.raises(pk.InputError, match="needs a run"):
        merge_tree([1, 2])
    tree = merge_tree(synthetic([0, 1], [[0.0, 1.0]] * 2))
    with pytest.raises(pk.InputError, match="outside the run"):
        tree.count(2.0)
    with pytest.raises(pk.InputError, match="plateaus"):
        tree.to_newick(plateau=7)


# --- formats ------------------------------------------------------------------------------


def test_json_holds_everything_and_no_infinity(runs):
    tree = merge_tree(runs[0])
    text = tree.to_json()
    assert not re.search(r"Infinity|NaN", text)
    data = json.loads(text)
    back = MergeTree(
        **{
            **{f.name: data[f.name] for f in dataclasses.fields(MergeTree)},
            "events": tuple(Merge(**e) for e in data["events"]),
            "trusted_until": math.inf if data["trusted_until"] is None else data["trusted_until"],
        }
    )
    assert back.events == tree.events
    assert back.plateaus == tree.plateaus
    assert data["arrivals"][0] is None
    assert data["plateaus"][-1]["open"] is True
    assert data["plateaus"][0]["lifetime"] == tree.plateaus[0].lifetime


def parse_newick(text):
    """A tree as (name, length, children) from a Newick string, names unquoted."""
    tokens = re.findall(r"[(),;]|:[^(),;]+|[^(),:;]+", text)
    assert tokens.pop() == ";"
    stack, siblings = [], []
    node = None
    for token in tokens:
        if token == "(":
            stack.append(siblings)
            siblings, node = [], None
        elif token == ")":
            siblings.append(node)
            node, siblings = ["", None, siblings], stack.pop()
        elif token == ",":
            siblings.append(node)
            node = None
        elif token[0] == ":":
            node[1] = float(token[1:])
        else:
            node = [token, None, []]
    assert not stack
    assert not siblings
    return node


def leaves(node, depth=0.0):
    """Names of leaves and their distances from the root's top."""
    depth += node[1] or 0.0
    if not node[2]:
        return {node[0]: depth}
    return dict(itertools.chain.from_iterable(leaves(c, depth).items() for c in node[2]))


def test_newick_of_all_tokens_and_of_a_plateau(runs):
    tree = merge_tree(runs[0])
    first = min(e.time for e in tree.events if e.time > 0)
    depths = leaves(parse_newick(tree.to_newick()))
    assert sorted(map(int, depths)) == list(range(tree.n))
    # All leaves begin at the same time, the root ends at the end of the run.
    np.testing.assert_allclose(list(depths.values()), 30 - math.log10(first), rtol=1e-6)
    plateau = tree.plateaus[0]
    depths = leaves(parse_newick(tree.to_newick(plateau=0)))
    assert sorted(map(int, depths)) == list(plateau.leaders)
    np.testing.assert_allclose(list(depths.values()), 30 - math.log10(plateau.start), rtol=1e-6)


def test_newick_joins_the_merged_and_roots_the_rest():
    events = (Merge(10.0, 3, 2, 1), Merge(1e4, 1, 0, 1))
    text = MergeTree(4, 0.0, 1e6, 0.1, 2.0, events).to_newick()
    assert text == "((0:3,1:3):2,(2:0,3:0):5);"
    assert len(parse_newick(text)[2]) == 2


def test_text_fits_the_terminal(runs):
    tree = merge_tree(runs[0])
    assert max(map(len, tree.to_text(80).splitlines())) <= 80
    assert max(map(len, tree.to_text(40).splitlines()[1:3])) <= 40
    assert tree.table()[-1]["clusters"] == "1"
    assert tree.table()[-1]["end"] == "end of run"
    assert [row["left"] for row in tree.merge_table()][-1] == "1"
    doubtful = dataclasses.replace(tree, trusted_until=1e14)
    assert "rounding errors dominate" in doubtful.to_text()
    assert json.loads(doubtful.to_json())["trusted_until"] == 1e14
    assert f"{tree.n} tokens" in repr(tree)


# --- consumption --------------------------------------------------------------------------


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
