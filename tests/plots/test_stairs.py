import numpy as np
import pytest

import parkade as pk
from parkade import plots
from parkade.plots import style
from parkade.theory.merge_tree import Merge, MergeTree


@pytest.fixture(scope="module")
def run():
    return pk.simulate(pk.Attention(d=2, beta=16.0), pk.sphere.uniform(30, 2, seed=1), 1e20)


@pytest.fixture(scope="module")
def forecast(run):
    return pk.clusters.forecast_of(run)


def texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_forecast_is_a_second_line(run, forecast):
    ax = plots.staircase(run, forecast=forecast)
    seen, dashed = ax.get_lines()
    assert texts(ax) == ["simulated", "forecast from the start"]
    assert dashed.get_linestyle() == "--"
    assert dashed.get_color() != seen.get_color()
    times, counts = dashed.get_data()
    inside = times <= forecast.end
    np.testing.assert_array_equal(counts[inside], forecast.count(times[inside]))
    assert times[-1] == 1e20
    assert plots.staircase(run).get_legend() is None


def test_a_forecast_that_ends_early_or_late_fills_the_axes():
    seen = MergeTree(3, 0.0, 1e6, 0.1, 2.0, (Merge(10.0, 2, 0, 1), Merge(1e4, 1, 0, 1)))
    for end in (1e5, 1e9):
        forecast = MergeTree(3, 0.0, end, 0.1, 2.0, (Merge(20.0, 2, 0, 1), Merge(1e8, 1, 0, 1)))
        times, counts = plots.staircase(seen, forecast=forecast).get_lines()[1].get_data()
        assert times.tolist() == [0.1, 20.0, 1e6]
        assert counts.tolist() == [3, 2, 2]


def test_life_and_overview_draw_it(run, forecast, tmp_path):
    for figure in (plots.life(run, forecast=forecast), plots.overview(run, forecast=forecast)):
        above, below = figure.axes
        assert "forecast from the start" in texts(above)
        assert below.get_legend() is None
        style.save(figure, tmp_path / "life.png")


def test_a_short_run_with_a_forecast_shows_its_staircase(tmp_path):
    run = pk.simulate(pk.Attention(d=3, beta=9.0), pk.sphere.uniform(10, 3, seed=1), 30.0)
    figure = plots.overview(run, forecast=pk.clusters.forecast_of(run))
    assert figure.axes[0].get_ylabel() == "clusters (radius 0.033)"


def test_the_legend_does_not_cover_the_stairs(run, forecast):
    ax = plots.staircase(run, forecast=forecast)
    ax.figure.draw_without_rendering()
    assert ax.get_legend().get_window_extent().y0 >= ax.get_window_extent().y1 - 1


def test_what_is_no_tree_is_refused(run):
    with pytest.raises(pk.InputError, match="forecast must be a merge tree, got bool"):
        plots.staircase(run, forecast=True)
