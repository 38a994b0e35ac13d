"""Figure 1 and its variants say where the tokens of each panel end."""

import dataclasses

from parkade.experiments.figures import fig1
from parkade.experiments.figures.registry import FIGURES
from parkade.theory.paper import PANELS


def test_every_panel_is_seen(quick, drawn):
    finding = FIGURES["fig1"].measure(dataclasses.replace(quick, seed=1))
    assert list(finding.numbers) == list(PANELS)
    assert finding.numbers["V = diag(1, ½, ¼)"] == "2 points in L"
    assert finding.parameters["T"] == "5000"
    figure = drawn(FIGURES["fig1"], finding)
    assert len(figure.axes) == 6
    for (name, seen), ax in zip(finding.numbers.items(), figure.axes, strict=True):
        title = ax.get_title().split("\n")
        assert title[0] == name
        assert title[2] == f"seen: {seen}"


def test_later_all_tokens_are_at_one_point(quick, monkeypatch):
    monkeypatch.setattr(fig1, "PANELS", {"V = I": PANELS["V = I"]})
    early, late = (FIGURES[name].measure(quick) for name in ("fig1", "fig1-late"))
    assert early.numbers == {"V = I": "2 points"}
    assert late.numbers == {"V = I": "1 point"}
    assert late.parameters["T"] == "1e9"


def test_times_are_written_briefly():
    assert [fig1._time(t) for t in (5000.0, 1e9, 1e60)] == ["5000", "1e9", "1e60"]
