"""Figure 2 counts the centres that the finders find."""

import dataclasses

import pytest

import parkade as pk
from parkade.experiments.figures import fig2


@pytest.fixture(scope="module")
def finding(quick):
    return fig2.measure(dataclasses.replace(quick, seed=1))


def test_figure_2_counts_what_the_finders_find(finding):
    numbers = finding.numbers
    start = pk.sphere.uniform(fig2.N, 2, 1)
    assert numbers["strong"] == pk.strong_renyi_centers(start, 0.5).tolist()
    assert numbers["renyi"] == pk.renyi_centers(start, 0.5).tolist()
    moved = dict(
        zip(numbers["renyi"], numbers["moved at t=150, in units of β^{-1/2}"], strict=True)
    )
    assert max(moved[k] for k in numbers["strong"]) < 0.1


def test_it_can_be_drawn(finding, drawn):
    assert len(drawn(fig2.EXHIBIT, finding).axes) == len(fig2.SNAPSHOTS)
