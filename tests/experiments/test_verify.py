"""`verify` and `parkade verify`: claims side by side, tables, JSON, figures, errors."""

import json

import pytest
from support.experiments import fake_claim, replace_all
from typer.testing import CliRunner

import parkade as pk
from parkade.cli import app
from parkade.experiments.claims.registry import CLAIMS
from parkade.experiments.verify import verify


@pytest.fixture
def claims(monkeypatch):
    """Three claims that take no time in the place of the real ones."""
    three = fake_claim("one"), fake_claim("two"), fake_claim("three", "undecided")
    replace_all(monkeypatch, CLAIMS, three)
    return CLAIMS


def invoke(*args):
    return CliRunner().invoke(app, ["verify", *map(str, args)])


def test_outcomes_come_in_order_and_from_the_seed_alone(claims):
    outcomes = verify(seed=3)
    assert [outcome.experiment.name for outcome in outcomes] == ["one", "two", "three"]
    again = verify(["three", "one", "one"], seed=3)
    assert [outcome.experiment.name for outcome in again] == ["three", "one"]
    assert again[1].finding.numbers == outcomes[0].finding.numbers
    assert verify("one", seed=4)[0].finding.numbers != outcomes[0].finding.numbers


def test_progress_is_that_of_all_claims_together(claims):
    seen = []
    verify(report=seen.append)
    assert seen[-1] == pytest.approx(1.0)
    assert all(0 <= fraction <= 1 + 1e-9 for fraction in seen)
    assert len(seen) >= 9


def test_output_holds_figures_and_verdicts(claims, tmp_path):
    folder = tmp_path / "new"
    outcomes = verify(["one", "two"], output=folder)
    assert {path.name for path in folder.iterdir()} == {
        "one.png", "one.pdf", "two.png", "two.pdf", "verdicts.json",
    }  # fmt: skip
    read = json.loads((folder / "verdicts.json").read_text(encoding="utf-8"))
    assert [row["claim"] for row in read["claims"]] == ["one", "two"]
    assert read["claims"][0]["numbers"] == dict(outcomes[0].finding.numbers)
    assert read["claims"][0]["figures"] == [str(folder / "one.png"), str(folder / "one.pdf")]


def test_a_failing_experiment_stops_the_others(claims, tmp_path, monkeypatch):
    bad = fake_claim("bad", fail=pk.ParkadeError("the run failed"))
    monkeypatch.setitem(claims, "bad", bad)
    with pytest.raises(pk.ParkadeError, match="the run failed"):
        verify(["bad", "one"], output=tmp_path)
    assert not (tmp_path / "verdicts.json").exists()


def test_the_table_fits_80_columns(claims):
    result = invoke()
    assert result.exit_code == 0
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    for word in ("one", "two", "undecided", "agrees", "prediction", "3 claims", "ours: lemma"):
        assert word in result.stdout


def test_json_and_list(claims):
    read = json.loads(invoke("two", "--json", "--seed", 5).stdout)
    assert read["claims"][0]["verdict"] == "agrees"
    assert [line.split()[0] for line in invoke("--list").stdout.splitlines()] == list(claims)


def test_bad_input_gets_a_sentence(claims, tmp_path):
    result = invoke("lemma-9")
    assert result.exit_code == 2
    assert "the claim must be one of 'one', 'two', 'three', got 'lemma-9'" in result.stderr
    file = tmp_path / "file"
    file.write_text("mine", encoding="utf-8")
    assert "cannot make the directory" in invoke("one", "-o", file).stderr
    assert invoke("one", "--seed", -1).exit_code == 2
