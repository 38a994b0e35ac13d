"""The plot of the lengths of tokens."""

from __future__ import annotations

import numpy as np
import pytest

import parkade as pk
from parkade import plots
from parkade.base.errors import InputError
from parkade.plots import style

X0 = pk.sphere.uniform(9, 2, seed=1)


def test_every_token_has_a_line():
    path = pk.forward(pk.Transformer([pk.Head(d=2, beta=4.0)], norm="pre"), X0, 20)
    ax = plots.lengths(path)
    lines = ax.get_lines()
    assert len(lines) == 9
    np.testing.assert_array_equal(lines[0].get_ydata(), path.radii[1:, 0])
    assert lines[0].get_color() == style.FIRST


def test_a_run_without_lengths_is_refused():
    with pytest.raises(InputError, match="no lengths in this run; simulate a model"):
        plots.lengths(pk.simulate(pk.Attention(d=2), X0, 1.0))
