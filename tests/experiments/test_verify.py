"""`verify` and `parkade verify`: claims side by side, tables, JSON, figures, errors."""

import dataclasses
import json

import pytest
from support import commands
from support.experiments import fake_claim, replace_all

import parkade as pk
from parkade.experiments.claims.registry import CLAIMS
from parkade.experiments.experiment import CAUSAL_CLUSTERING
from parkade.experiments.verify import verify


@pytest.fixture
def claims(monkeypatch):
    """Three claims that take no time in the place of the real ones."""
    three = fake_claim("one"), fake_claim("two"), fake_claim("three", "undecided")
    replace_all(monkeypatch, CLAIMS, three)
    return CLAIMS


def invoke(*args):
    return commands.invoke("verify", *args)


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
    for word in ("one", "two", "undecided", "agrees", "prediction", "3 claims", "Ours", "lemma"):
        assert word in result.stdout


def test_json_and_list(claims):
    read = json.loads(invoke("two", "--json", "--seed", 5).stdout)
    assert read["claims"][0]["verdict"] == "agrees"
    assert "measured" not in invoke("--list").stdout
    listed = json.loads(invoke("--list", "--json").stdout)["claims"]
    assert [row["claim"] for row in listed] == list(claims)
    assert listed[0]["prediction"] == "a number"


@pytest.fixture
def papers(claims, monkeypatch):
    """The three claims and two more, of a paper that is known and of one that is not."""
    for name, paper in (("four", CAUSAL_CLUSTERING), ("five", "9912.00001")):
        monkeypatch.setitem(claims, name, dataclasses.replace(fake_claim(name), paper=paper))
    return claims


def test_claims_of_papers_can_be_chosen(papers):
    def chosen(*args, **kwargs):
        return [outcome.experiment.name for outcome in verify(*args, **kwargs)]

    assert chosen(papers="ours") == ["one", "two", "three"]
    assert chosen(papers=["9912.00001", CAUSAL_CLUSTERING]) == ["four", "five"]
    assert chosen(["five", "two", "one"], papers="ours") == ["two", "one"]
    result = invoke("--paper", "9912.00001", "--paper", CAUSAL_CLUSTERING, "--json")
    assert [row["claim"] for row in json.loads(result.stdout)["claims"]] == ["four", "five"]


@pytest.mark.parametrize("option", ["--quick", "--list"])
def test_tables_are_grouped_by_paper(papers, option, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = invoke(option).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    paper = "Karagodin et al. 2024, arXiv 2411.04990: Clustering in causal attention masking"
    order = ["Ours", "one", "two", "three", paper, "four", "arXiv 9912.00001", "five"]
    places = [next(i for i, line in enumerate(lines) if line.startswith(w)) for w in order]
    assert places == sorted(places)
    columns = {line.index("lemma") for line in lines if "lemma" in line}
    assert columns == {lines[0].index("status")}


def test_help_shows_how_to_choose_a_paper():
    result = commands.invoke("verify", "--help", terminal_width=80)
    assert "parkade verify --paper 2411.04990" in result.stdout


def test_bad_input_gets_a_sentence(claims, tmp_path):
    result = invoke("lemma-9")
    assert result.exit_code == 2
    assert "the claim must be one of 'one', 'two', 'three', got 'lemma-9'" in result.stderr
    result = invoke("--paper", "2411", "--list")
    assert result.exit_code == 2
    assert "the paper must be one of 'ours', got '2411'" in result.stderr
    file = tmp_path / "file"
    file.write_text("mine", encoding="utf-8")
    assert "cannot make the directory" in invoke("one", "-o", file).stderr
    assert invoke("one", "--seed", -1).exit_code == 2


def test_names_and_papers_that_exclude_each_other_get_a_sentence(papers):
    result = invoke("four", "--paper", "ours")
    assert result.exit_code == 2
    assert "four must be claims of ours, but none is" in result.stderr
