"""Fixtures for tests of experiments."""

import json

import pytest

from parkade import plots
from parkade.experiments.experiment import Setup
from parkade.plots import style


@pytest.fixture(scope="session")
def quick():
    """A quick setup with the seed 0 that writes nothing."""
    return Setup(quick=True, seed=0, report=lambda fraction: None)


@pytest.fixture(scope="module", autouse=True)
def pictures(plain_pictures):
    """`tests/plots` looks at those of users."""


@pytest.fixture(scope="session")
def drawn():
    """Draws what an experiment found, and checks that no axes are empty."""

    def draw(experiment, finding):
        figure = plots.new_figure(style.PAGE, experiment.height)
        figure.set_layout_engine("none")  # two thirds of the time; figures that are saved have one
        with style.context():
            experiment.draw(finding, figure)
            for ax in figure.axes:
                ax.minorticks_off()  # a quarter of the time, which tells of Matplotlib alone
            figure.draw_without_rendering()  # all but the dots
        assert all(ax.has_data() for ax in figure.axes)
        return figure

    return draw


@pytest.fixture(scope="session")
def presentable(drawn):
    """Checks that evidence fits a table, a JSON file and a figure."""

    def check(claim, evidence):
        assert len(evidence.measured) < 60
        assert len(claim.prediction) < 60
        json.dumps(evidence.numbers, allow_nan=False)
        return drawn(claim, evidence)

    return check
