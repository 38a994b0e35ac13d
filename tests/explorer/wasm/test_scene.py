"""What the module of scenes has instead of NumPy, SciPy and LAPACK: packaging/wasm."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from support.builder import interpreted

import parkade as pk
from parkade.analysis.clusters import merge_tree
from parkade.analysis.travel import way
from parkade.explorer.scenes.frames import frame_times
from parkade.explorer.scenes.groups import _followers
from parkade.runs.rotation import turn
from parkade.theory import capture_window, final_configuration, table
from parkade.theory.forecast import _park, _Problem

TURNING = [[1.0, -1.0], [1.0, 1.0]]
RNG = np.random.default_rng(5)


@pytest.fixture
def part(monkeypatch):
    """Gives a module, interpreted."""
    return lambda name: interpreted(monkeypatch, name)[0]


def runs():
    """Runs of both methods, with and without a rotation."""
    for d, T, V in ((2, 20.0, 1.0), (3, 1e6, [1.0, 1.0, -1.0]), (2, 1e6, TURNING)):
        x0 = pk.sphere.uniform(9, d, seed=2)
        yield pk.simulate(pk.Attention(d=d, beta=9.0, V=V), x0, T)


def moved(scene_run, run):
    """A run as the module has it."""
    d = run.d
    plane = np.zeros((2, d))
    rate = scene_run.plane_of(run.spin, plane)
    method = scene_run.METHODS.index(run.stats.method)
    still = turn(-run.spin, run.times, run.tokens)
    none = np.empty((0, 0)), np.empty((0, 0, 0))
    return scene_run.SceneRun(method, run.times, still, run.dense, *none, plane, rate)


def test_the_plane_of_a_rotation(part):
    scene_run = part("scenes.run")
    for d in (2, 3, 3, 3):
        spin = RNG.normal(size=(d, d))
        spin -= spin.T
        plane = np.zeros((2, d))
        rate = scene_run.plane_of(spin, plane)
        np.testing.assert_allclose(plane @ plane.T, np.eye(2), atol=1e-15)
        expected = rate * (np.outer(plane[1], plane[0]) - np.outer(plane[0], plane[1]))
        np.testing.assert_allclose(spin, expected, atol=1e-14)
        run = scene_run.SceneRun(0, *(np.empty(0),) * 5, plane, rate)
        x = pk.sphere.uniform(5, d, seed=1)
        ours = x.copy()
        scene_run.turn(run, 3.7, ours)
        np.testing.assert_allclose(ours, turn(spin, np.array([3.7]), x[None])[0], atol=1e-14)


def test_frames_and_merges(part):
    frames, merges, scene_run = part("scenes.frames"), part("scenes.merges"), part("scenes.run")
    for run in runs():
        ours, n = moved(scene_run, run), run.n
        length = np.empty(len(run.times))
        frames.way(ours, length)
        np.testing.assert_allclose(length, way(run), rtol=1e-12, atol=1e-15)
        times = np.empty(frames.MOST_FRAMES)
        count = frames.frame_times(ours, times)
        np.testing.assert_allclose(times[:count], frame_times(run), rtol=1e-12)
        x = np.empty((n, run.d))
        for t in times[:count:29]:
            scene_run.at(ours, t, x)
            scene_run.turn(ours, t, x)
            np.testing.assert_allclose(x, run.at(t), atol=1e-13)
        tree = merge_tree(run, 0.05, halvings=8)
        whole = [np.empty(n, dtype=np.int64) for _ in range(3)]
        events = merges.MergeEvents(np.empty(n), *whole)
        assert merges.merges(ours, 0.05, 8, events) == len(tree.events) > 3
        for i, event in enumerate(tree.events):
            result = events.absorbed[i], events.into[i], events.sizes[i]
            assert result == (event.absorbed, event.into, event.size)
            assert events.times[i] == pytest.approx(event.time, rel=1e-12)
        arrived = np.empty(n)
        merges.arrivals(events, len(tree.events), arrived)
        states = merges.PlateauArrays(*np.empty((3, n + 1)), np.empty(n + 1, dtype=np.int64))
        many = merges.plateaus(arrived, tree.end, tree.forming, states)
        assert states.clusters[:many].tolist() == [p.clusters for p in tree.plateaus]
        np.testing.assert_allclose(states.lifetimes[:many], [p.lifetime for p in tree.plateaus])
        labels = np.empty(n, dtype=np.int64)
        for t in (0.0, tree.end / 3, tree.end):
            assert merges.leaders(run.at(t), arrived, t, labels) == tree.count(t)
            np.testing.assert_array_equal(labels, _followers(run.at(t), tree, t))


def test_numbers_between_numbers_are_those_of_numpy(part):
    """Also where places are equal: times may be."""
    between = part("scenes.frames").interpolated
    places = np.array([0.0, 0.0, 1.0, 2.0, 2.0, 2.0, 3.5, 3.5])
    values = np.array([1.0, 2.0, 5.0, 5.0, 7.0, 8.0, 9.0, 11.0])
    for x in [-1.0, 0.0, 0.3, 1.0, 2.0, np.nextafter(2.0, 3), 3.0, 3.5, 4.0]:
        assert between(x, places, values) == np.interp(x, places, values)


def test_tokens_park_as_with_a_tree_of_places(part, monkeypatch):
    made = part("scenes.forecast")
    for module in (made, sys.modules[_park.__module__]):
        monkeypatch.setattr(module, "MOST_LEADERS", 140)  # leaders: the last case has more
    for n, d, sharpness, radius in (
        (150, 2, 64.0, 0.01),
        (150, 3, 9.0, 0.3),
        (150, 3, 400.0, 0.005),
    ):
        x = pk.sphere.uniform(n, d, seed=n)
        result = made.park(x, sharpness, radius)
        assert len(result.places) < n
        expected = _park(_Problem(x, sharpness * np.eye(d), sharpness, 1.0), radius)
        for ours, theirs in zip(result, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def matrices():
    """Matrices of all kinds: with equal, complex, few and nearly equal eigenvalues."""
    yield from (s * np.eye(d) for d in (2, 3) for s in (1.0, 2.0, -1.0, 0.0))
    yield from map(np.diag, ([1.0, 1.0, -1.0], [1.0, 0.5], [-1.0, -2.0], [-1.0, -1.0, -2.0]))
    yield from map(np.diag, ([0.0, -1.0], [1.0, 1 - 1e-9], [1.0, 1 - 1e-13], [1.0, 1.0, 0.0]))
    yield from (np.array(TURNING), np.array([[0.0, -1.0], [1.0, 0.0]]))
    yield from (np.array([[-1.0, -2.0], [2.0, -1.0]]), np.array([[1.0, 1.0], [0.0, 1.0]]))
    for corner in (0.3, 1.0, 2.0):
        yield np.array([[1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, corner]])
        yield np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, corner]])
        yield np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, corner]])
    yield np.array([[2.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 2.0]])
    yield from (np.array([[1.0, small], [0.0, 1.0]]) for small in (1e-7, 1e-10, 1e-14))
    for i in range(60):
        d = 2 + i % 2
        yield (m := RNG.normal(size=(d, d)))
        yield m + m.T
        some = np.diag(RNG.integers(-1, 2, size=d).astype(float))
        yield m @ some @ np.linalg.inv(m)
        q = np.linalg.qr(m)[0]
        yield q @ some @ q.T


def test_final_configurations_are_those_of_lapack(part):
    scene_final = part("scenes.final")
    cases = set()
    for V in matrices():
        d, expected = len(V), final_configuration(V)
        out = scene_final.FinalNumbers(np.empty(8), *np.empty((2, d, d)), np.empty(d))
        scene_final.final(V.copy(), out)
        value, turning, gap = out.numbers[1:4]
        case, dim, size, own, leads = out.numbers[[0, 4, 5, 6, 7]].astype(int)
        numbers = table.Numbers(value, turning, own, size, own, gap, tuple(out.turns[:leads]))
        assert table.sentence(case, numbers) == expected.sentence
        assert dim == expected.dim
        L = out.basis[:, :dim]
        np.testing.assert_allclose(L @ L.T, expected.basis @ expected.basis.T, atol=1e-9)
        close = 1e-10 * max(1.0, np.abs(expected.projection).max())
        np.testing.assert_allclose(out.projection, expected.projection, atol=close)
        cases.add(case)
    assert cases >= set(range(len(table.CASES))) - {table.PAIR_JORDAN}  # which takes d = 4


@pytest.mark.parametrize("N", [2.0, 60.0, 1e6])
def test_windows_of_capture(N, part):
    window = part("scenes.capture").window
    for c, beta in ((1.9, 9.0), (4.0, 64.0), (5.7, 64.0), (7.4, 256.0), (3.0, 1.0)):
        result, out = capture_window(N=N, c=c, beta=beta), np.empty(3)
        assert window(c, beta, N, out) == (result.eps is not None)
        if result.eps is not None:
            assert result.limits is not None
            np.testing.assert_allclose(out, [result.eps, *result.limits], rtol=1e-9)


def test_where_tokens_rest(part):
    """As `parkade.analysis.ending` finds it, from NumPy's velocity and LAPACK's eigenvalues."""
    from parkade.analysis.ending import return_rate

    ending = part("scenes.ending")
    for d in (2, 3):
        Q = RNG.normal(size=(d, d))
        V = np.eye(d) + 0.1 * RNG.normal(size=(d, d))
        model = pk.Attention(Q=Q, V=V, beta=3.0)
        ours = ending.EndingModel(model.product, V, 3.0, model.rate, model.sharpness)
        x, room = pk.sphere.uniform(6, d, seed=1), np.zeros((8, d))
        velocity = model.velocity(x)
        for k in range(6):
            ending._velocity(ours, x, k, x[k], room)
            np.testing.assert_allclose(room[0], velocity[k], atol=1e-14)
        slowest = min(ending._return_rate(ours, x, k, room) for k in range(1, 6))
        assert slowest == pytest.approx(return_rate(model, x), rel=1e-6)
        assert not ending.rests(ours, x)
        assert ending.rests(ours._replace(value=np.eye(d)), np.tile(x[:1], (6, 1)))


def test_angles_and_distances(part):
    ending = part("scenes.ending")
    V = np.diag([1.0, 1.0, -1.0])
    x, points, final = (*(pk.sphere.uniform(7, 3, seed=s) for s in (1, 2)), final_configuration(V))
    result = ending.angles(x, final.basis, final.dim)
    np.testing.assert_allclose(result, final.angles(x), atol=1e-15)
    distances = np.array([[pk.sphere.distance(a, b) for b in points] for a in x])
    assert ending.farthest(x, points) == pytest.approx(distances.min(axis=1).max())
    gaps = [pk.sphere.distance(points[i], points[j]) for i in range(7) for j in range(i)]
    assert ending.closest(points) == pytest.approx(min(gaps))
    assert ending.closest(points[:1]) == math.pi
