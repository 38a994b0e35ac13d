"""`parkade meaning` and `parkade context`: tables, JSON, files, and bad input."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from support import commands
from support.planted import FEW, NAMES, planted

from parkade.experiments.trained.meaning import context as tables
from parkade.experiments.trained.meaning.rows import heads_table, number, rows, summary

TEXTS = ["".join(NAMES[i : i + 30]) for i in (0, 50, 200)]


@pytest.fixture
def model(monkeypatch):
    """A planted model in the place of one that is loaded."""
    made, _ = planted(3)
    monkeypatch.setattr("parkade.trained.load", lambda name: made)
    monkeypatch.setattr(
        "parkade.trained.meaning.vocabulary.texts", lambda kind="prose": tuple(TEXTS)
    )
    return made


def test_the_table_fits_80_columns(model, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "80")
    result = commands.invoke("meaning", "planted", "-o", tmp_path)
    assert result.exit_code == 0, result.output
    lines = result.stdout.partition("wrote")[0].splitlines()
    assert max(map(len, lines)) <= 80
    (line,) = [line for line in lines if line.startswith("L0H0")]
    assert "3.00" in line
    for word in (NAMES[0], NAMES[FEW], "copying score", "meaning.html"):
        assert word in result.stdout
    assert not [line for line in lines if line.startswith("L0H1")]
    data = json.loads((tmp_path / "meaning.json").read_text(encoding="utf-8"))
    assert {head["name"] for head in data["heads"]} == {"L0H0", "L0H1", "L0 sum"}
    page = (tmp_path / "meaning.html").read_text(encoding="utf-8")
    assert "http" not in re.sub(r"https://arxiv\.org|http://www\.w3\.org/2000/svg", "", page)


def test_all_lists_heads_without_words(model, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    result = commands.invoke("meaning", "planted", "--all", "--layer", 0)
    assert [line for line in result.stdout.splitlines() if line.startswith("L0H1")]


def test_json_has_the_numbers_of_the_dataset(model):
    data = json.loads(commands.invoke("meaning", "planted", "--json", "--seed", 4).stdout)
    table = model.meaning(seed=4)
    assert data["model"] == "planted"
    for head in data["heads"]:
        row = table.sel(layer=head["layer"], head=head["head"])
        assert head["copying"] == pytest.approx(float(row.copying))
        for axis in head["axes"]:
            assert axis["kurtosis"] == pytest.approx(float(row.kurtosis.sel(axis=axis["axis"])))


def test_rows_are_sorted_and_counted(model):
    data = model.meaning(texts=TEXTS)
    listed = rows(data)
    values = [row.writes.kurtosis for row in listed]
    assert values == sorted(values, reverse=True)
    assert {row.name for row in listed} == {"L0H0", "L0H1", "L0 sum"}
    assert "Kurtosis above 4: 1 head, 0 in" in summary(data, listed)[1]
    assert len(heads_table(listed)) == 4
    assert number(1 - 2j) == "1.00-2.00i"


def test_context_fits_80_columns(tmp_path, monkeypatch):
    made, _ = planted(5)
    monkeypatch.setattr("parkade.trained.load", lambda name: made)
    monkeypatch.setenv("COLUMNS", "80")
    file = tmp_path / "text.txt"
    file.write_text("".join(NAMES[:64]), encoding="utf-8")
    args = ("context", "planted", "--text", file, "--length", 32, "--length", 64)
    result = commands.invoke(*args)
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) <= 80
    for word in ("n = 32", "n = 64", "entropy of equal weights", "Measured, not proved"):
        assert word in result.stdout
    data = json.loads(commands.invoke(*args, "--json", "-o", tmp_path).stdout)
    assert json.loads((tmp_path / "context.json").read_text(encoding="utf-8")) == data
    assert np.shape(data["data_vars"]["entropy"]["data"]) == (1, 1, 2, 2)


def test_the_heads_with_the_smallest_and_largest_slopes_are_shown():
    made, _ = planted(6)
    ids = np.random.default_rng(0).integers(0, 400, 64)
    data = made.context([ids], [32, 48, 64])
    table = tables.heads_table(data)
    slopes = [float(row[1]) for row in table[1:]]
    assert slopes == sorted(slopes)
    known = tables.correlations(data)
    assert all(-1 <= value <= 1 for value in known.values())


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("meaning", "nowhere.gguf"), "nowhere.gguf"),
        (("meaning", "ALBERT-rxn", "--layer", "99"), "layer must be a whole number from 0 to 11"),
        (("context", "ALBERT-rxn"), "is an encoder"),
        (("context", "ALBERT-rxn", "--text", "no.txt"), "there is no file no.txt"),
    ],
)
def test_bad_input_gets_a_sentence(albert, args, sentence):
    result = commands.invoke(*args)
    assert result.exit_code == 2
    assert sentence in result.stderr
