"""Tables of text for terminals."""

import pytest

from parkade.base.tables import Column, text_table

PAIR = [Column("n", right=True), Column("what")]


def test_columns_are_aligned():
    table = text_table(PAIR, [["7", "tokens"], ["1000", "runs"]])
    assert table.splitlines() == ["   n  what", "   7  tokens", "1000  runs"]


def test_no_names_no_heading():
    assert text_table([Column(least=4), Column()], [["a", "b"]]) == "a     b"
    assert text_table([Column(), Column()], []) == ""
    assert text_table(PAIR, []) == "n  what"


def test_a_rule_is_as_wide_as_the_table():
    assert text_table(PAIR, [["7", "tokens"]], rule=True).splitlines()[1] == "─" * 9


def test_long_lines_are_cut():
    lines = text_table(PAIR, [["7", "a" * 30], ["8", "b"]], width=10).splitlines()
    assert lines == ["n  what", "7  aaaaaa…", "8  b"]


@pytest.mark.parametrize("width", [40, 55, 80, 200])
def test_columns_with_a_share_fold(width):
    columns = [Column("name"), Column("left", share=1), Column("right", share=2), Column("end")]
    words = "every token ends where the first one began, after a long time"
    rows = [["one", words, words, "yes"], ["two", "short", words, "no"]]
    lines = text_table(columns, rows, width=width).splitlines()
    assert max(map(len, lines)) <= width
    whole = sum(len(word) + 2 for word in ("name", words, words)) + 3
    assert (len(lines) == 3) == (whole <= width)
    for word in words.split():
        assert sum(line.count(word) for line in lines) >= 3


def test_a_short_column_leaves_its_share_to_the_others():
    columns = [Column("a", share=1), Column("b", share=1)]
    (_, row) = text_table(columns, [["x", "y" * 20]], width=23).splitlines()
    assert row == "x  " + "y" * 20
