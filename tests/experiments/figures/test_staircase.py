"""The life of the clusters, with its timeline."""

import dataclasses

from parkade.experiments.figures import staircase


def test_the_staircase_comes_with_its_timeline(quick, tmp_path):
    outcome = staircase.EXHIBIT.perform(dataclasses.replace(quick, seed=1, folder=tmp_path))
    assert {path.suffix for path in outcome.paths} == {".png", ".pdf", ".txt"}
    text = (tmp_path / "staircase.txt").read_text(encoding="utf-8")
    assert text.startswith("Metastable states")
    assert "end of run" in text
    assert outcome.finding.numbers["plateaus"][-1]["clusters"] == 1
