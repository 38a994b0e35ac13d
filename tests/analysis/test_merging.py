"""Merge trees: of paths made by hand, and of runs."""

import dataclasses
import math

import numpy as np
import pytest

import parkade as pk
from parkade.analysis.clusters import cluster_labels, default_radius, merge_tree
from parkade.theory.merge_tree import Merge, MergeTree


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


# --- paths made by hand --------------------------------------------------------------------


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


HISTORIES = {
    "leaves for long, and arrives once and last": (
        [0, 1, 10, 20, 30, 100],
        [[0.0, a] for a in (1, 0, 0.5, 0.5, 0, 0)],  # near at 1, away from 10 to 30
        [Merge(30, 1, 0, 1)],
    ),
    # Cluster {1, 2} moves to 0 at t=1e20; 2 lags behind for less than a float spacing.
    "lags behind in a merge, which is no new arrival": (
        [0, 1, 50, 1e10, 1e20, 1e20, 1e20, 1e25],
        [[0.0, 1.0, a] for a in (2.0, 1.5, 1.0, 1.0)]
        + [[0.0, 0.8, 0.9], [0.0, 0.0, 0.4], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]],
        [Merge(50, 2, 1, 1), Merge(1e20, 1, 0, 2)],
    ),
    # Token 2 is with 1 at t=10, alone at 11 and with 0 from 12 on.
    "changes clusters, and arrives at the second": (
        [0, 10, 11, 12, 100, 1000],
        [[0, 1.0, a] for a in (2.0, 1.0, 0.5, 0.0, 0.0, 0.0)],
        [Merge(12, 2, 0, 1)],
    ),
    "starts in a cluster": ([0, 10, 100], [[0.0, 0.001, 1.0]] * 3, [Merge(0, 1, 0, 1)]),
    "is alone": ([0, 1e3], [[0.5]] * 2, []),
}


@pytest.mark.parametrize("name", HISTORIES)
def test_a_token_that(name):
    times, angles, events = HISTORIES[name]
    tree = merge_tree(synthetic(times, angles))
    assert tree.events == tuple(events)
    before = times[-1] / 2
    assert tree.count(before) == len(angles[0]) - sum(event.time <= before for event in events)


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


# --- runs ----------------------------------------------------------------------------------


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
