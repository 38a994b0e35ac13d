"""Panels say what Table 1 expects and what is seen."""

import pytest

import parkade as pk
from parkade import plots
from parkade.plots.ending import draw_ending
from parkade.theory.paper import FIGURE_1, TABLE_1


@pytest.mark.parametrize(
    ("row", "expected", "seen"),
    [
        ("V = I", "one point, x₁(0), for t → ∞", "1 point"),
        ("V = diag(1, 1, −1)", "one point of L", "1 point in L"),
        ("V = diag(1, ½, ¼)", "two points ±ξ", "2 points in L"),
        ("V = diag(−1, −1, −2)", "cloud around L", "31 points, within"),
    ],
)
def test_panels_say_what_table_1_expects_and_what_is_seen(row, expected, seen):
    d, n, beta, t_end = FIGURE_1
    start = pk.sphere.uniform(n, d, 1)
    run = pk.simulate(pk.Attention(V=TABLE_1[row], beta=beta), start, t_end)
    ax = plots.new_figure().add_subplot()
    assert draw_ending(run, row, ax)[0] == expected
    title = ax.get_title().split("\n")
    assert title[:2] == [row, f"expected: {expected}"]
    assert title[2].startswith(f"seen: {seen}")
