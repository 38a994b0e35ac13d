"""`parkade trained`: tables, JSON, files, the catalogue, and bad input."""

import json
import shutil
from pathlib import Path

import pytest
from support import commands

from parkade.trained import fetch
from parkade.trained.revisions import checkpoints as revisions_of
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
    assert lines[0].startswith("- 8 of 8 heads attract or repel beyond chance")
    assert "read from " in result.stdout
    assert "at least 2^-1, the smallest possible with 2 texts" in " ".join(result.stdout.split())


def test_json_has_the_numbers(albert, two):
    result = invoke("ALBERT-rxn", *two, "--json")
    data = json.loads(result.stdout)
    assert data["model"]["name"] == "ALBERT-rxn"
    assert data["survey"]["texts"] == 2
    assert data["ablations"] == {}


def test_one_text_of_the_user_is_the_only_one_measured(albert, two, tmp_path):
    result = invoke("ALBERT-rxn", *two[:2], "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "1 text, " in result.stdout
    # Folded lines are one sentence again.
    said = " ".join(result.stdout.split())
    assert "16 other texts that ship with parkade served for centring only" in said
    data = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    assert data["read"] == [texts("reactions")[12]]
    assert data["survey"]["texts"] == 1


@pytest.fixture
def checkpoints(albert, tmp_path):
    """ALBERT twice, as subfolders, and as the cache of the hub has revisions."""
    stored = Path(fetch("ALBERT-rxn"))
    hub = tmp_path / "models--me--rxn"
    (hub / "refs").mkdir(parents=True)
    for number, digit, ref in ((10, "b", "main"), (2, "a", "step2")):
        shutil.copytree(stored, tmp_path / "run" / f"checkpoint-{number}")
        shutil.copytree(stored, hub / "snapshots" / (digit * 40))
        (hub / "refs" / ref).write_text(digit * 40)
    return tmp_path


def test_checkpoints_are_compared(checkpoints, two, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    out = checkpoints / "out"
    result = invoke(checkpoints / "run", "--revision", "all", *two, "-o", out)
    assert result.exit_code == 0, result.output
    # Paths are as long as they are.
    lines = [one for one in result.stdout.splitlines() if str(checkpoints) not in one]
    assert max(map(len, lines)) <= 80
    names = ["run@checkpoint-2", "run@checkpoint-10"]
    assert [line.split()[:2] for line in result.stdout.splitlines()].count(names) == 1
    data = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert [one["model"]["name"] for one in data["reports"]] == names
    sources = [one["source"] for one in data["reports"]]
    assert sources == [str(checkpoints / "run" / name.partition("@")[2]) for name in names]
    for name in names:
        assert (out / name / "report.html").is_file()
        assert (out / name / "explorer.html").is_file()


def test_checkpoints_by_name(checkpoints):
    hub = checkpoints / "models--me--rxn"
    for revisions, expected in [
        ((), ["rxn@main"]),
        (["step2"], ["rxn@step2"]),
        (["b" * 40], ["rxn@bbbbbbbb"]),
        (["aaaaaa"], ["rxn@aaaaaa"]),
        (["all"], ["rxn@main", "rxn@step2"]),
    ]:
        assert [one.name for one in revisions_of(str(hub), revisions)] == expected
    assert revisions_of(str(hub))[0].place == str(hub / "snapshots" / ("b" * 40))
    inside = str(hub / "snapshots" / ("b" * 40))
    assert [one.place for one in revisions_of(inside)] == [inside]


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
        (("ALBERT-rxn", "--revision", "main"), "ALBERT-rxn has no revisions"),
        (("me/rxn", "--revision", "all"), "--revision all is for folders"),
    ],
)
def test_bad_input_gets_a_sentence(albert, args, sentence):
    result = invoke(*args)
    assert result.exit_code == 2
    assert sentence in result.stderr


@pytest.mark.parametrize(
    ("folder", "revision", "sentence"),
    [
        ("run", (), "which has the checkpoints checkpoint-2, checkpoint-10; choose with"),
        ("run", ("--revision", "step1"), "has no checkpoint 'step1'; it has checkpoint-2, "),
        ("models--me--rxn", ("--revision", "cccccc"), "no checkpoint 'cccccc'; it has main, step2"),
        (".", ("--revision", "all"), "there are no checkpoints in"),
    ],
)
def test_unknown_checkpoints_get_a_sentence(checkpoints, folder, revision, sentence):
    result = invoke(checkpoints / folder, *revision)
    assert result.exit_code == 2
    assert sentence in result.stderr


def test_an_empty_text_gets_a_sentence(albert, tmp_path):
    (tmp_path / "empty.txt").write_text(" \n")
    result = invoke("ALBERT-rxn", "--text", tmp_path / "empty.txt")
    assert "is empty" in result.stderr
