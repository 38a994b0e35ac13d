"""Table 1 as measured."""

from parkade.experiments.reproduce import reproduce


def test_table_1_as_measured(tmp_path):
    (made,) = reproduce("table1", tmp_path, quick=True)
    assert [path.name for path in made.paths] == ["table1.png", "table1.pdf", "table1.csv"]
    rows = (tmp_path / "table1.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 6
    assert rows[2].startswith("V = diag(1, 1, −1);1;2;one point;conjecture;")
    assert all(row.endswith(";100% of runs") for row in rows[1:])
