"""Table 1 is seen row by row, late enough."""

import dataclasses

import numpy as np
import pytest
from support.experiments import changed, measured

from parkade import theory
from parkade.experiments.claims.causal import table
from parkade.experiments.reproduce import reproduce

half_of_the_tokens = changed(table, FIGURE_1=table.FIGURE_1._replace(n=16))
evidence = measured(table)


@pytest.fixture(autouse=True)
def nothing_computed(monkeypatch):
    """What other tests measured does not count."""
    monkeypatch.setattr(table, "_computed", {})


def test_every_row_is_seen(evidence, presentable):
    assert evidence.verdict == "agrees"
    rows = evidence.numbers["rows"]
    assert [row["predicted"] for row in rows.values()] == [
        "one point", "one point", "two points", "cloud", "two clouds",
    ]  # fmt: skip
    assert all(row["share at t = 1e9"] == 1 for row in rows.values())
    # The paper's T = 5000 is too early for V = I.
    assert rows["V = I"]["share at t = 5000"] < 1
    presentable(table.CLAIM, evidence)


@pytest.fixture
def one_row(monkeypatch):
    """One row, looked at too early."""
    monkeypatch.setattr(table, "LATE", 6000.0)
    monkeypatch.setattr(table, "TABLE_1", {"V = I": (1, 1, 1)})


def test_too_early_it_is_undecided(quick, one_row):
    result = table.measure(quick)
    assert result.verdict == "undecided"
    assert result.numbers["rows"]["V = I"]["still on their way"] >= 1


def test_wrong_predictions_are_refuted(quick, monkeypatch):
    exact = theory.final_configuration
    monkeypatch.setattr(theory, "final_configuration", lambda V: exact(-np.asarray(V)))
    monkeypatch.setattr(table, "TABLE_1", dict(list(table.TABLE_1.items())[2:4]))
    result = table.measure(quick)
    assert result.verdict == "contradicts"
    assert all(row["share at t = 1e9"] < 1 for row in result.numbers["rows"].values())


def test_claim_and_figure_measure_it_once(quick, one_row):
    assert table.measure(quick) is table.measure(quick)
    assert table.measure(dataclasses.replace(quick, seed=1)) is not table.measure(quick)


def test_the_figure_has_the_rows(evidence, tmp_path, monkeypatch):
    monkeypatch.setitem(table._computed, (True, 0), evidence)
    (made,) = reproduce("table1", tmp_path, quick=True)
    assert [path.name for path in made.paths] == ["table1.png", "table1.pdf", "table1.csv"]
    rows = (tmp_path / "table1.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 6
    assert rows[2].startswith("V = diag(1, 1, −1);1;2;one point;conjecture;")
    assert all(row.endswith(";100% of runs") for row in rows[1:])
