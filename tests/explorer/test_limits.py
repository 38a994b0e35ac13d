"""Runs that would take too long, that do, and that are cancelled."""

from __future__ import annotations

import pytest

from parkade.explorer import Limits, Settings
from parkade.explorer.compute import compute_scene
from parkade.explorer.limits import CancelledError, TooLongError
from parkade.explorer.schema import FieldError


def test_endless_work_is_foreseen():
    with pytest.raises(FieldError, match=r"about 3e\+59 steps of 300 tokens") as caught:
        compute_scene(Settings(n=300, mask="full", T=1e60), Limits(), print, lambda: False)
    assert caught.value.field == "T"
    longest = float(str(caught.value).split()[-1])
    Limits().foresee(Settings(n=300, mask="full", T=0.9 * longest))
    Limits().foresee(Settings(n=300, T=1e60))  # long, and few steps


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        (Limits(token_steps=500), "stopped at 500 steps of single tokens, at t="),
        (Limits(memory=2**16), "stopped at 0.0625 MiB of steps, at t="),
        (Limits(seconds=0), "stopped after 0 s, at t="),
    ],
)
def test_limits_on_the_way(limits, sentence):
    chosen = Settings(n=20, d=2, beta=64, T=1e4)
    with pytest.raises(TooLongError, match="choose a smaller T or n") as caught:
        compute_scene(chosen, limits, lambda fraction: None, lambda: False)
    assert sentence in str(caught.value)


def test_analysis_can_be_cancelled():
    chosen = Settings(n=20, d=2, T=10)
    done = [False]

    def report(fraction):
        done[0] = fraction == 1

    looks = []

    def cancelled():
        # The simulation has ended and been asked about; the third look is the analysis.
        looks.append(done[0])
        return sum(looks) > 3

    with pytest.raises(CancelledError):
        compute_scene(chosen, Limits(), report, cancelled)
