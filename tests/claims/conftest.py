"""What the tests of the claims share."""

from __future__ import annotations

import json

import pytest

from parkade import plots
from parkade.claims.claim import Effort
from parkade.plots import style


@pytest.fixture(scope="session")
def quick():
    """A quick look with the seed 0."""
    return Effort(quick=True, seed=0, report=lambda fraction: None)


@pytest.fixture(scope="session")
def presentable():
    """Checks that evidence fits a table, a JSON file and a figure."""

    def check(claim, evidence):
        assert len(evidence.measured) < 60
        assert len(claim.prediction) < 60
        json.dumps(evidence.numbers, allow_nan=False)
        figure = plots.new_figure(style.PAGE, claim.height)
        with style.context():
            claim.draw(evidence, figure)
            figure.canvas.draw()
        assert all(ax.has_data() for ax in figure.axes)

    return check
