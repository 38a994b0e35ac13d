"""Figures show what was simulated, and files are complete or absent."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import parkade as pk
from parkade import plots
from parkade.plots import circles, globe, principal, sampling, style
from parkade.plots.ending import draw_ending

QUARTER_TURN = [[1.0, -1.0], [1.0, 1.0]]


def simulate(d, t_end, n=12, times="steps", **options):
    model = pk.Attention(d=d, beta=options.pop("beta", 9.0), V=options.pop("V", 1.0))
    return pk.simulate(model, pk.sphere.uniform(n, d, seed=3), t_end, times=times, **options)


@pytest.fixture(scope="module")
def on_circle():
    return simulate(2, 20.0, n=30, beta=25.0)


@pytest.fixture(scope="module")
def turning():
    return simulate(2, 30.0, V=QUARTER_TURN)


@pytest.fixture(scope="module")
def on_sphere():
    return simulate(3, 40.0, V=[1, 1, -1])


def points(ax, label):
    """The points drawn under this label."""
    matches = [c for c in ax.collections if c.get_label() == label]
    assert len(matches) == 1, f"{label!r} is not drawn exactly once"
    assert isinstance(matches[0], PathCollection)
    return np.asarray(matches[0].get_offsets())


def lines(ax, color):
    """The line collections of this colour."""
    return [
        c
        for c in ax.collections
        if isinstance(c, LineCollection)
        and len(c.get_color())
        and to_hex(c.get_color()[0]) == color
    ]


def same_points(a, b):
    """Whether two sets of points agree, in any order."""
    a, b = np.asarray(a), np.asarray(b)
    gaps = np.linalg.norm(a[:, None] - b, axis=-1)
    return len(a) == len(b) and gaps.min(axis=0).max() < 1e-12 and gaps.min(axis=1).max() < 1e-12


# The circle


def test_circle_draws_the_end_the_start_the_first_token_and_any_time(on_circle):
    ax = plots.circle(on_circle)
    np.testing.assert_array_equal(points(ax, "t = 20"), on_circle.final)
    np.testing.assert_array_equal(points(ax, "t = 0"), on_circle.tokens[0])
    np.testing.assert_array_equal(points(ax, "first token"), on_circle.final[:1])
    earlier = points(plots.circle(on_circle, t=3.3), "t = 3.3")
    np.testing.assert_array_equal(earlier, on_circle.at(3.3))


def test_circle_draws_frozen_tokens():
    frozen = pk.sphere.from_angles([0.0, 2.0])
    ax = plots.circle(simulate(2, 1.0, frozen=frozen))
    np.testing.assert_allclose(points(ax, "frozen"), frozen, atol=1e-15)


def test_circle_draws_on_given_axes(on_circle):
    ax = Figure().add_subplot()
    assert plots.circle(on_circle, ax=ax) is ax
    assert ax.get_legend() is None  # the owner of the axes decides


# Angles against time


@pytest.mark.parametrize("fixture", ["on_circle", "turning"])
def test_no_line_of_angles_jumps(fixture, request):
    run = request.getfixturevalue(fixture)
    ax = plots.angles(run)
    (others,), (first,) = lines(ax, style.TOKEN.lower()), lines(ax, style.FIRST)
    for piece in [*others.get_segments(), *first.get_segments()]:
        # Far less than π: every line is drawn through points close to each other.
        assert np.abs(np.diff(piece[:, 1])).max(initial=0) < 2 * sampling.STEP
    if fixture == "turning":
        turns = 30.0 / (2 * math.pi)
        assert math.floor(turns) <= len(first.get_segments()) - 1 <= math.ceil(turns)


def test_angles_are_those_of_the_run(on_circle):
    (others,) = lines(plots.angles(on_circle), style.TOKEN.lower())
    drawn = np.concatenate(others.get_segments())
    times = np.unique(drawn[:, 0])
    assert times[0] == 0
    assert times[-1] == 20
    expected = pk.sphere.angles(on_circle.at(times))[:, 1:]
    assert drawn[:, 1].size == expected.size
    for t, phi in zip(times[::50], expected[::50], strict=True):
        np.testing.assert_array_equal(np.sort(drawn[drawn[:, 0] == t, 1]), np.sort(phi))


def test_time_axis_is_logarithmic_only_for_long_runs(on_circle):
    assert plots.angles(on_circle).get_xscale() == "linear"
    ax = plots.angles(simulate(2, 2000.0, n=4))
    assert ax.get_xscale() == "symlog"
    assert ax.get_xlim() == (0, 2000)
    labels = [text.get_text() for text in ax.get_xticklabels()]
    assert labels == ["0", "$10^{0}$", "$10^{1}$", "$10^{2}$", "$10^{3}$"]


@pytest.mark.parametrize("last", [2e3, 1e7, 1e8, 1e60, 1e300])
def test_labels_of_the_time_axis_do_not_touch(on_circle, last):
    run = dataclasses.replace(on_circle, times=on_circle.times * (last / 20), dense=None)
    ax = plots.angles(run)
    renderer = ax.figure.canvas.get_renderer()
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent(renderer) for text in ax.get_xticklabels()]
    assert len(boxes) >= 4
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))


def test_unbroken_cuts_only_where_the_angle_wraps():
    pieces = circles.unbroken(np.arange(5.0), np.array([3.0, 3.1, -3.1, -3.0, 0.0]))
    assert [len(piece) for piece in pieces] == [2, 3]


# The sphere


def test_sphere_draws_projected_final_points(on_sphere):
    for azimuth, elevation in [(globe.AZIMUTH, globe.ELEVATION), (100.0, -40.0)]:
        ax = plots.sphere(on_sphere, azimuth=azimuth, elevation=elevation)
        red = [
            np.asarray(c.get_offsets())
            for c in ax.collections
            if isinstance(c, PathCollection) and to_hex(c.get_edgecolor()[0]) == style.FINAL.lower()
        ]
        flat_final = (on_sphere.final @ globe.camera(azimuth, elevation))[:, :2]
        assert same_points(np.concatenate(red), flat_final)


def test_camera_is_a_rotation_and_looks_from_where_it_says():
    view = globe.camera(0.0, 0.0)
    np.testing.assert_allclose([1, 0, 0] @ view, [0, 0, 1], atol=1e-15)  # x towards the viewer
    np.testing.assert_allclose([0, 1, 0] @ view, [1, 0, 0], atol=1e-15)  # y to the right
    np.testing.assert_allclose([0, 0, 1] @ view, [0, 1, 0], atol=1e-15)  # z up
    view = globe.camera(50.0, 20.0)
    np.testing.assert_allclose(view.T @ view, np.eye(3), atol=1e-15)
    assert np.linalg.det(view) == pytest.approx(1)


def test_hemispheres_cut_a_great_circle_at_the_horizon():
    turn = np.linspace(0.1, 0.1 + 2 * math.pi, 200)
    circle = np.stack([np.cos(turn), np.zeros_like(turn), np.sin(turn)], axis=1)
    front, back = globe.hemispheres(circle)
    assert len(front) == 2  # it starts and ends in front
    assert len(back) == 1
    np.testing.assert_allclose(np.abs(back[0][[0, -1], 0]), 1, atol=1e-3)
    np.testing.assert_array_equal(front[0][-1], back[0][0])
    np.testing.assert_array_equal(back[0][-1], front[1][0])
    seen, hidden = globe.hemispheres(-circle)
    assert (len(seen), len(hidden)) == (1, 2)


def test_sphere_draws_what_is_behind_fainter(on_sphere):
    ax = plots.sphere(on_sphere)
    view = globe.camera(globe.AZIMUTH, globe.ELEVATION)
    path = sampling.positions(on_sphere, sampling.path_times(on_sphere), view)
    hidden, seen = lines(ax, style.TOKEN.lower())
    assert hidden.get_alpha() < seen.get_alpha() / 2
    depth = path[:, 1:, 2]
    for collection, inside in ((hidden, depth < 0), (seen, depth >= 0)):
        drawn = np.concatenate(collection.get_segments())
        expected = path[:, 1:, :2][inside]
        gaps = np.linalg.norm(expected[::7, None] - drawn, axis=-1).min(axis=1)
        assert gaps.max() < 1e-12
        # Besides these only the crossings of the horizon are drawn, two ends for each.
        assert len(expected) <= len(drawn) <= len(expected) + 2 * len(collection.get_segments())


def test_paths_are_sampled_finely_and_to_the_end(on_sphere):
    times = sampling.path_times(on_sphere)
    assert (times[0], times[-1]) == (0, 40)
    moves = pk.sphere.distance(on_sphere.at(times)[1:], on_sphere.at(times)[:-1])
    assert moves.max() < 2 * sampling.STEP


def test_a_run_that_keeps_turning_says_how_far_it_is_drawn():
    turn = np.zeros((3, 3))
    turn[:2, :2] = QUARTER_TURN
    run = simulate(3, 300.0, n=3, V=turn)
    times = sampling.path_times(run)
    assert len(times) <= sampling.MOST
    assert 40 < times[-1] < 110
    # Also where one step of the integrator covers many turns.
    drawn = run.at(times)
    assert pk.sphere.distance(drawn[1:], drawn[:-1]).max() < 2 * sampling.STEP
    texts = [text.get_text() for text in plots.sphere(run).texts]
    assert any(text.startswith("paths to t = ") for text in texts)


# Principal axes


def test_principal_axes_are_those_of_the_end():
    run = simulate(5, 2.0, n=20, beta=4.0)
    ax = plots.principal_axes(run)
    centred = run.final - run.final.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred)
    drawn = points(ax, "t = 2")
    for k in (0, 1):
        expected = run.final @ vectors[:, -1 - k]
        sign = np.sign(expected @ drawn[:, k])
        np.testing.assert_allclose(drawn[:, k], sign * expected, atol=1e-12)
        share = round(100 * values[-1 - k] / values.sum())
        label = (ax.get_xlabel, ax.get_ylabel)[k]()
        assert label == f"principal axis {k + 1} ({share} %)"


@pytest.mark.parametrize("ends", [[1.0] * 20, [1.0] * 9 + [-1.0] * 11])
def test_principal_axes_of_one_or_two_points_use_the_start_too(ends):
    run = simulate(5, 2.0, n=20)
    final = np.zeros((20, 5))
    final[:, 2] = ends
    run.tokens[-1] = final
    ax = plots.principal_axes(run)
    assert "of start and end" in ax.get_xlabel()
    assert np.ptp(points(ax, "t = 0"), axis=0).min() > 0.5


@pytest.mark.parametrize("n", [1, 2, 6])
def test_principal_gives_two_orthonormal_axes_for_few_points(n):
    axes, shares, _ = principal.principal(pk.sphere.uniform(n, 6, seed=1))
    np.testing.assert_allclose(axes.T @ axes, np.eye(2), atol=1e-12)
    assert 0 <= shares.sum() <= 1 + 1e-12


# Every run has an overview


@pytest.mark.parametrize("d", [2, 3, 5])
@pytest.mark.parametrize("times", ["steps", "final", [0.0], [0.0, 0.5, 0.5, 2.0]], ids=str)
@pytest.mark.parametrize("n", [1, 6])
def test_overview_of_any_run_renders(d, times, n):
    figure = plots.overview(simulate(d, 2.0, n=n, times=times))
    figure.draw_without_rendering()
    assert len(figure.axes) == (2 if d == 2 else 1)


def test_caption_names_the_model():
    run = simulate(3, 1e4, n=4, V=[1, 0.5, -1], times="final")
    assert plots.caption(run) == "β = 9, V = diag(1, 0.5, −1), causal mask, n = 4, t = 10000"
    model = pk.Attention(d=5, beta=4, Q=2.0, V=np.ones((5, 5)), mask="full")
    run = pk.simulate(model, np.eye(5), 0.1, frozen=np.eye(2, 5))
    assert "trusted" not in plots.caption(run)
    untrusted = dataclasses.replace(run, trusted_until=0.05)
    assert plots.caption(untrusted) == plots.caption(run) + ", trusted to t = 0.05"
    expected = "β = 4, Q = 2 I, V = 5×5 matrix, full mask, n = 5, d = 5, 2 frozen, t = 0.1"
    assert plots.caption(run) == expected
    assert plots.overview(run).get_suptitle() == expected


# Bad input


@pytest.mark.parametrize(
    ("plot", "d", "message"),
    [
        ("circle", 3, r"plots\.circle needs tokens in d=2, got d=3; use plots\.sphere"),
        ("angles", 5, r"plots\.angles needs tokens in d=2, got d=5; use plots\.principal_axes"),
        ("sphere", 2, r"plots\.sphere needs tokens in d=3, got d=2; use plots\.circle or"),
        ("sphere", 5, r"plots\.sphere needs tokens in d=3, got d=5; use plots\.principal_axes"),
        ("principal_axes", 2, r"needs tokens in d ≥ 3, got d=2; use plots\.circle or"),
    ],
)
def test_the_wrong_dimension_is_refused(plot, d, message):
    with pytest.raises(pk.InputError, match=message):
        getattr(plots, plot)(simulate(d, 0.1, n=2))


@pytest.mark.parametrize("plot", ["circle", "angles", "sphere", "principal_axes", "overview"])
def test_only_runs_are_drawn(plot):
    with pytest.raises(pk.InputError, match=f"plots.{plot} needs a run or a path, got ndarray"):
        getattr(plots, plot)(np.eye(2))


def test_axes_must_be_flat(on_sphere):
    polar = Figure().add_subplot(projection="polar")
    with pytest.raises(pk.InputError, match="ordinary 2-D axes, got the projection 'polar'"):
        plots.sphere(on_sphere, ax=polar)
    with pytest.raises(pk.InputError, match="must be a matplotlib Axes, got Figure"):
        plots.sphere(on_sphere, ax=Figure())


def test_a_time_that_was_not_saved_is_refused():
    run = simulate(2, 2.0, times=[0.0, 1.0, 2.0])
    with pytest.raises(pk.InputError, match=r"t=1\.5 is not among the 3 saved times"):
        plots.circle(run, t=1.5)


@pytest.mark.parametrize("name", [r"$\frac{", "a $ b $ c^^", r"\$x$", "$", "50% of $5 and $6"])
def test_names_are_no_formulas(tmp_path, name):
    """Names that users give are shown as they are, also beside numbers such as $10^{60}$."""
    flow = pk.Flow(lambda t, x: 0 * x, 2, label=name)
    run = pk.Path([0.0, 1e60], np.stack([pk.sphere.uniform(5, 2, seed=1)] * 2), flow)
    plots.save(plots.overview(run), tmp_path / "run.svg")
    model = pk.Attention(V=[1.0, 1.0, -1.0])
    seen = pk.simulate(model, pk.sphere.uniform(5, 3, seed=1), 5.0)
    figure = Figure()
    draw_ending(seen, name, figure.subplots())
    assert figure.axes[0].get_title().startswith(name.replace("$", r"\$"))
    plots.save(figure, tmp_path / "end.svg")
    ds = pk.ensemble(d=2, n=4, beta=[1.0, 2.0], times=[1.0, 2.0], runs=1).rename(clusters=name)
    plots.save(plots.phase_diagram(ds, name).figure, tmp_path / "phase.svg")
