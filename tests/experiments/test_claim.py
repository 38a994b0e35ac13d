"""A claim says above its figure what the verdict is."""

import dataclasses

from support.experiments import fake_claim

from parkade import plots


def test_the_heading_tells_the_claim_and_the_verdict(quick):
    claim = fake_claim("one", "undecided")
    evidence = claim.measure(quick)
    assert claim.heading(evidence) == "The title of one: undecided"
    assert claim.caption(evidence) == "one: The title of one"


def test_the_heading_is_drawn(quick, tmp_path, monkeypatch):
    titles = []
    monkeypatch.setattr(plots, "save", lambda figure, path: titles.append(figure.get_suptitle()))
    fake_claim("one").perform(dataclasses.replace(quick, folder=tmp_path))
    assert titles == ["The title of one: agrees"] * 2
