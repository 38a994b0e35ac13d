"""Every figure and table is there."""

from parkade.experiments.experiment import CAUSAL_CLUSTERING, OURS
from parkade.experiments.figures.registry import FIGURES

PAPER = ["fig1", "table1", "fig2", "fig3", "verify"]
OWN = ["fig1-late", "fig1-qk", "staircase", "share", "findings"]


def test_every_figure_is_listed_under_its_name():
    assert set(FIGURES) == {*PAPER, *OWN}
    for name, exhibit in FIGURES.items():
        assert exhibit.name == name
        assert exhibit.title
        assert exhibit.statement


def test_figures_say_where_they_come_from():
    assert [name for name, f in FIGURES.items() if f.paper == CAUSAL_CLUSTERING] == PAPER
    assert [name for name, f in FIGURES.items() if f.paper == OURS] == OWN
