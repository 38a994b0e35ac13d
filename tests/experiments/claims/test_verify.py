"""`verify` and `parkade verify`: claims side by side, tables, JSON, figures, errors."""

import json

import pytest
from typer.testing import CliRunner

import parkade as pk
from parkade.cli import app
from parkade.experiments.claims import CLAIMS, Claim, Evidence, verify


def fake(name, verdict="agrees", fail=None):
    def measure(effort):
        effort.report(0.5)
        if fail:
            raise fail
        number = float(effort.generator(1).random())
        return Evidence(verdict, f"{number:.3f} ± 0.001", 1e-6, {"x": number})

    def draw(evidence, figure):
        figure.subplots().plot([0, 1], [0, evidence.numbers["x"]])

    return Claim(name, f"The title of {name}", "lemma", "a number", measure, draw)


@pytest.fixture
def claims(monkeypatch):
    """Three claims that take no time in the place of the real ones."""
    for name in list(CLAIMS):
        monkeypatch.delitem(CLAIMS, name)
    for claim in (fake("one"), fake("two"), fake("three", "undecided")):
        monkeypatch.setitem(CLAIMS, claim.name, claim)
    return CLAIMS


def invoke(*args):
    return CliRunner().invoke(app, ["verify", *map(str, args)])


def test_every_claim_of_the_paper_is_there():
    statuses = {"lemma", "theorem", "conjecture", "observed"}
    assert len(CLAIMS) >= 14
    for name, claim in CLAIMS.items():
        assert claim.name == name
        assert claim.status in statuses
        assert claim.title
        assert claim.prediction
        assert len(claim.prediction) < 80


def test_results_come_in_order_and_from_the_seed_alone(claims):
    results = verify(seed=3)
    assert [result.claim.name for result in results] == ["one", "two", "three"]
    again = verify(["three", "one", "one"], seed=3)
    assert [result.claim.name for result in again] == ["three", "one"]
    assert again[1].evidence.numbers == results[0].evidence.numbers
    assert verify("one", seed=4)[0].evidence.numbers != results[0].evidence.numbers


def test_output_holds_figures_and_verdicts(claims, tmp_path):
    folder = tmp_path / "new"
    results = verify(["one", "two"], output=folder)
    assert {path.name for path in folder.iterdir()} == {
        "one.png", "one.pdf", "two.png", "two.pdf", "verdicts.json",
    }  # fmt: skip
    read = json.loads((folder / "verdicts.json").read_text(encoding="utf-8"))
    assert [row["claim"] for row in read["claims"]] == ["one", "two"]
    assert read["claims"][0]["numbers"] == dict(results[0].evidence.numbers)
    assert read["claims"][0]["figures"] == [str(folder / "one.png"), str(folder / "one.pdf")]


def test_a_failing_experiment_stops_the_others(claims, tmp_path):
    claims["bad"] = fake("bad", fail=pk.ParkadeError("the run failed"))
    with pytest.raises(pk.ParkadeError, match="the run failed"):
        verify(["bad", "one"], output=tmp_path)
    assert not (tmp_path / "verdicts.json").exists()


def test_the_table_fits_80_columns(claims):
    result = invoke()
    assert result.exit_code == 0
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    for word in ("one", "two", "undecided", "agrees", "prediction", "3 claims"):
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
