"""Records say what was found, and notice when files have changed."""

import dataclasses
import json

import pytest
from support.experiments import fake_claim, fake_exhibit

import parkade as pk
from parkade.experiments import records
from parkade.experiments.experiment import OURS


@pytest.fixture
def setup(quick, tmp_path):
    return dataclasses.replace(quick, folder=tmp_path, seed=3, runs=7)


@pytest.fixture
def record(setup, tmp_path):
    settings = records.settings_of(setup)
    return records.write_record(fake_exhibit("one").perform(setup), settings, tmp_path)


def test_claims_as_json_hold_everything_but_the_arrays(quick):
    outcome = fake_claim("one", "undecided").perform(quick)
    (row,) = json.loads(records.claims_json([outcome]))["claims"]
    assert row == {
        "claim": "one", "title": "The title of one", "paper": OURS, "status": "lemma",
        "prediction": "a number", "measured": outcome.finding.measured, "verdict": "undecided",
        "false_alarm": 1e-6, "seconds": outcome.seconds, "numbers": outcome.finding.numbers,
        "figures": [],
    }  # fmt: skip


def test_claims_as_json_have_no_infinity(quick):
    outcome = fake_claim("one").perform(quick)
    evidence = dataclasses.replace(outcome.finding, numbers={"x": float("inf")})
    with pytest.raises(ValueError, match="JSON"):
        records.claims_json([dataclasses.replace(outcome, finding=evidence)])


def test_a_record_says_what_was_made_and_how(record, tmp_path):
    assert record["name"] == "one"
    assert record["paper"] == OURS
    assert record["statement"] == "The paper on one."
    assert record["command"] == "parkade reproduce one --seed 3 --quick --runs 7"
    assert record["settings"]["parkade"] == pk.__version__
    assert record["made"]["pictures"] == [{"path": "one.png", "caption": "The caption of one."}]
    assert record["made"]["files"] == ["one.csv", "one.txt"]
    assert len(record["made"]["tables"]) == 2
    names = ["one.png", "one.pdf", "one.csv", "one.txt"]
    assert [path.name for path in records.record_paths(tmp_path, record)] == names


def test_a_record_is_found_as_it_was_written(record, tmp_path):
    assert records.find_record(tmp_path, "one") == json.loads(json.dumps(record))
    assert records.find_record(tmp_path, "two") is None


@pytest.mark.parametrize("name", ["one.png", "one.pdf", "one.csv", "one.txt", "one.json"])
def test_a_file_that_is_missing_or_changed_is_noticed(record, tmp_path, name):
    path = tmp_path / name
    whole = path.read_bytes()
    path.unlink()
    assert records.find_record(tmp_path, "one") is None
    path.write_bytes(whole[:-9] + b"x" + whole[-8:])
    assert records.find_record(tmp_path, "one") is None
    path.write_bytes(whole)
    assert records.find_record(tmp_path, "one") is not None


def test_a_record_without_a_checksum_does_not_count(record, tmp_path):
    (tmp_path / "one.json").write_text(json.dumps(record), encoding="utf-8")
    assert records.find_record(tmp_path, "one") is None


def test_settings_are_those_of_the_setup_and_of_the_code(setup):
    settings = records.settings_of(setup)
    assert settings == records.settings_of(setup)
    assert settings != records.settings_of(dataclasses.replace(setup, quick=False))
    assert settings != records.settings_of(dataclasses.replace(setup, seed=4))
    assert len(settings["code"]) == 16
