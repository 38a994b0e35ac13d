"""`parkade trained`: tables, JSON, files, the catalogue, and bad input."""

import json

import pytest
from support import commands

from parkade.trained.texts import texts


def invoke(*args):
    return commands.invoke("trained", *args)


@pytest.fixture
def two(tmp_path):
    files = []
    for i, text in enumerate(texts("reactions")[12:14]):
        files += ["--text", tmp_path / f"{i}.txt"]
        files[-1].write_text(text, encoding="utf-8")
    return files


def test_the_tables_fit_80_columns(albert, two, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    result = invoke("ALBERT-rxn", *two, "--iterate", 5)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    for word in ("2 texts", "trained (8)", "isotropic", "reversed", "effective rank", "5 times"):
        assert word in result.stdout


def test_json_has_the_numbers(albert, two):
    result = invoke("ALBERT-rxn", *two, "--json")
    data = json.loads(result.stdout)
    assert data["model"]["name"] == "ALBERT-rxn"
    assert data["survey"]["texts"] == 2
    assert data["ablations"] == {}


def test_the_catalogue_is_listed(albert):
    lines = invoke("--list").stdout.splitlines()
    (line,) = [line for line in lines if line.startswith("ALBERT-rxn")]
    assert line.split()[-1] == "yes"
    assert "SHA-256 is correct" in invoke("--get", "ALBERT-rxn").stdout


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ((), "name the model to measure"),
        (("--get", "GPT-5"), "--get must be one of 'stories15M'"),
        (("ALBERT-rxn", "--ablate", "norm"), "the ablation must be one of"),
        (("ALBERT-rxn", "--text", "nowhere.txt"), "there is no file nowhere.txt"),
    ],
)
def test_bad_input_gets_a_sentence(albert, args, sentence):
    result = invoke(*args)
    assert result.exit_code == 2
    assert sentence in result.stderr


def test_an_empty_text_gets_a_sentence(albert, tmp_path):
    (tmp_path / "empty.txt").write_text(" \n")
    result = invoke("ALBERT-rxn", "--text", tmp_path / "empty.txt")
    assert "is empty" in result.stderr
