"""Centres of a run are drawn where they are."""

import numpy as np
import pytest

import parkade as pk
from parkade import plots


def test_centers_are_drawn_where_they_are():
    start = pk.sphere.uniform(50, 2, 1)
    run = pk.simulate(pk.Attention(d=2, beta=64.0), start, 20.0)
    ax = plots.centers(run, 0.5, t=5.0)
    tokens, _weak, strong = (np.asarray(c.get_offsets()) for c in ax.collections)
    np.testing.assert_allclose(tokens, run.at(5.0))
    expected = 1.1 * run.at(5.0)[pk.strong_renyi_centers(start, 0.5)]
    np.testing.assert_allclose(strong, expected)
    assert ax.get_legend() is not None
    with pytest.raises(pk.InputError, match="d=2"):
        plots.centers(pk.simulate(pk.Attention(d=3), pk.sphere.uniform(5, 3, 1), 1.0), 0.5)
