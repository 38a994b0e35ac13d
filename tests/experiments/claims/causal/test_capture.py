"""Theorem 5.2 is seen, and centres that are too close too."""

from support.experiments import changed, measured

from parkade.experiments.claims.causal import capture
from parkade.experiments.claims.common import frozen

few_separations = changed(capture, SEPARATIONS=(1.0, 2.5, 6.0))
evidence = measured(capture)


def test_every_token_is_captured(evidence, presentable):
    numbers = evidence.numbers
    assert evidence.verdict == "agrees"
    assert 0 <= numbers["farthest_in_radii"] < 0.1
    assert 1e100 < numbers["latest_capture"] < frozen.END
    assert numbers["outside_captured"][0] < 0.5 < 0.99 < numbers["outside_captured"][-1]
    assert len(presentable(capture.CLAIM, evidence).axes) == 3


def test_centers_too_close_are_refuted(verdict):
    close = {"SETTINGS": (capture.SHOWN,), "smallest_separation": lambda setting: 1.5}
    assert verdict(capture, SEPARATIONS=(), **close) == "contradicts"
