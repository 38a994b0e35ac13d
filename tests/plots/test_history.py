import dataclasses
import math

import numpy as np
import pytest
from matplotlib.collections import LineCollection

import parkade as pk
from parkade.analysis.clusters import merge_tree
from parkade.plots import history as life
from parkade.plots import style
from parkade.theory.merge_tree import Merge, MergeTree

pytestmark = pytest.mark.usefixtures("plain_pictures")


@pytest.fixture(scope="module")
def run():
    x0 = pk.sphere.uniform(60, 2, seed=0)
    return pk.simulate(pk.Attention(d=2, beta=25.0), x0, 1e30, method="implicit")


@pytest.fixture(scope="module")
def tree(run):
    return merge_tree(run)


def boxes(ax, texts):
    """Extents of texts in pixels, after the layout is done."""
    ax.figure.draw_without_rendering()
    return [t.get_window_extent() for t in texts]


def overlap(a, b):
    return a.x0 < b.x1 and b.x0 < a.x1 and a.y0 < b.y1 - 1 and b.y0 < a.y1 - 1


def test_the_staircase_is_the_count(run, tree):
    ax = life.staircase(run)
    (line,) = ax.get_lines()
    times, counts = line.get_data()
    np.testing.assert_array_equal(counts, tree.count(times))
    assert line.get_drawstyle() == "steps-post"
    assert ax.get_xscale() == "log"
    assert ax.get_xlim()[1] == 1e30
    assert len(ax.collections) == len(tree.plateaus)


def test_labels_of_plateaus_do_not_overlap(tree):
    ax = life.staircase(tree)
    texts = [t.get_text() for t in ax.texts]
    assert "1 cluster" in texts
    extents = boxes(ax, ax.texts)
    frame = ax.figure.bbox
    for i, box in enumerate(extents):
        assert not any(overlap(box, other) for other in extents[:i])
        assert frame.x0 <= box.x0
        assert box.x1 <= frame.x1


def test_many_plateaus_are_labelled_as_far_as_there_is_room():
    events = tuple(Merge(10.0 ** (k + 1), 60 - k, 0, 1) for k in range(60))
    ax = life.staircase(MergeTree(61, 0.0, 1e62, 0.1, 2.0, events))
    extents = boxes(ax, ax.texts)
    assert 5 < len(extents) < 60
    assert not any(overlap(a, b) for i, a in enumerate(extents) for b in extents[:i])


@pytest.mark.parametrize("known", ["run", "tree"])
def test_lines_of_the_merge_tree_do_not_cross(run, tree, known):
    ax = life.merge_tree(run if known == "run" else tree)
    names = [int(t.get_text()) for t in ax.get_yticklabels()]
    row = dict(zip(names, ax.get_yticks(), strict=True))
    first = tree.plateaus[0]
    assert sorted(row) == list(first.leaders)
    for event in tree.events:
        if event.time > first.start:
            low, high = sorted((row[event.absorbed], row[event.into]))
            alive = tree.arrivals > event.time
            assert not any(low < row[k] < high and alive[k] for k in row)


def test_angles_of_leaders_end_where_they_join(run, tree):
    ax = life.angle_life(run)
    lines = [c for c in ax.collections if isinstance(c, LineCollection)]
    leaders = tree.plateaus[0].leaders
    assert len(lines) == 1 + len(leaders)
    for collection, leader in zip(lines[1:], leaders, strict=True):
        pieces = collection.get_segments()
        for piece in pieces:
            assert np.all(np.abs(np.diff(piece[:, 1])) <= math.pi)  # no jump across ±π
        end = min(tree.arrivals[leader], 1e30)
        assert pieces[-1][-1, 0] == pytest.approx(end)
    # Token 0 rests at its angle; the last to join ends there.
    home = pk.sphere.angles(run.tokens[0])[0]
    last = tree.events[-1].absorbed
    final = lines[1 + leaders.index(last)].get_segments()[-1][-1, 1]
    assert final == pytest.approx(home, abs=2 * tree.radius)


def test_life_is_drawn_and_written(run, tmp_path):
    figure = life.life(run)
    above, below = figure.axes
    assert above.get_xlim() == below.get_xlim()
    for suffix in ("png", "pdf", "svg"):
        path = style.save(figure, tmp_path / f"life.{suffix}")
        assert path.stat().st_size > 5000
        figure.set_layout_engine("none")  # all files have the layout of the first


def test_life_on_the_sphere_shows_the_tree():
    x0 = pk.sphere.uniform(30, 3, seed=1)
    run = pk.simulate(pk.Attention(d=3, beta=9.0), x0, 1e6, method="implicit")
    figure = life.life(run)
    assert figure.axes[1].get_ylabel() == "cluster (its first token)"
    figure.draw_without_rendering()


@pytest.mark.parametrize(
    ("t_end", "times"),
    [(0.05, "steps"), (3.0, "steps"), (40.0, "steps"), (100.0, [0, 1, 10, 100])],
)
def test_short_runs_and_few_saved_times_are_drawn_too(t_end, times):
    x0 = pk.sphere.uniform(20, 2, seed=1)
    run = pk.simulate(pk.Attention(d=2, beta=16.0), x0, t_end, times=times)
    life.life(run).draw_without_rendering()
    life.merge_tree(run).figure.draw_without_rendering()


def test_untrusted_times_are_labelled(run):
    for ax in life.life(dataclasses.replace(run, trusted_until=1e14)).axes:
        assert any("not trusted" in t.get_text() for t in ax.texts)
    for ax in life.life(run).axes:
        assert not any("trusted" in t.get_text() for t in ax.texts)


def test_an_unknown_phase_is_labelled_on_the_angles_only():
    x0 = pk.sphere.uniform(10, 2, seed=1)
    with pytest.warns(pk.TrustWarning, match="place on their orbit"):
        turning = pk.simulate(pk.Attention(V=[[1, -1], [1, 1]], beta=16.0), x0, 1e14)
    stairs, angles = (" ".join(t.get_text() for t in ax.texts) for ax in life.life(turning).axes)
    assert "phase unknown" in angles
    assert "phase" not in stairs


def test_bad_input_is_refused(run):
    with pytest.raises(pk.InputError, match=r"plots\.staircase needs a run, got list"):
        life.staircase([1])
    with pytest.raises(pk.InputError, match="needs a run"):
        life.angle_life(3)
    with pytest.raises(pk.InputError, match="d=2"):
        life.angle_life(pk.simulate(pk.Attention(d=3), pk.sphere.uniform(3, 3, seed=0), 1.0))
    end = pk.simulate(run.model, run.tokens[0], 1.0, times="final")
    with pytest.raises(pk.InputError, match="several times"):
        life.life(end)
