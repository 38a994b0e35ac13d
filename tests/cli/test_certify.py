"""`parkade certify`: proofs made, saved, drawn and checked, and `parkade timeline --proved`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.commands import invoke

SMALL = ["--n", "5", "--beta", "12", "--seed", "2"]


def test_a_certificate_is_written_drawn_and_checked(here: Path) -> None:
    made = invoke("certify", *SMALL, "-o", "proof.json", "--plot", "proof.png")
    assert made.exit_code == 0
    assert made.stdout.startswith("Proved for 5 tokens with β = 12, from t = 0 to 1e+60\n")
    assert Path("proof.png").read_bytes().startswith(b"\x89PNG")
    checked = invoke("certify", "--check", "proof.json")
    assert checked.exit_code == 0
    assert checked.stdout.startswith("proof.json proves what it claims.\n")
    claims = json.loads(invoke("certify", "--check", "proof.json", "--json").stdout)
    assert claims["merges"][-1]["into"] == 0
    assert str(claims["n"]) in checked.stdout


def test_a_certificate_on_a_sphere_is_written_and_checked(here: Path) -> None:
    made = invoke("certify", *SMALL, "--d", "3", "-o", "proof.json")
    assert made.stdout.startswith("Proved for 5 tokens with β = 12, from t = 0 to 1e+60\n")
    checked = invoke("certify", "--check", "proof.json")
    assert checked.exit_code == 0
    claims = json.loads(invoke("certify", "--check", "proof.json", "--json").stdout)
    assert claims["merges"][-1]["into"] == 0


def test_a_damaged_certificate_is_refused(here: Path) -> None:
    invoke("certify", *SMALL, "-o", "proof.json")
    data = json.loads(Path("proof.json").read_text())
    data["merges"][-1]["latest"] *= 0.99
    Path("proof.json").write_text(json.dumps(data))
    result = invoke("certify", "--check", "proof.json")
    assert result.exit_code == 2
    assert "the certificate is refused: merges are not what is proved" in result.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["certify", "--check", "none.json"], "cannot read none.json"),
        (["certify", "--n", "3", "--plot", "proof.txt"], "proof.txt"),
        (["certify", "--check", "a.json", "-o", "b.json"], "to check a certificate, or -o"),
        (["certify", "--beta", "0"], "beta must be > 0"),
        (["timeline", "--n", "4", "--proved", "--json"], "--proved prints text"),
    ],
)
def test_mistakes_get_a_sentence(here: Path, options: list[str], words: str) -> None:
    result = invoke(*options)
    assert result.exit_code == 2
    assert words in result.stderr
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("d", ["2", "3"])
def test_a_timeline_shows_what_is_proved(here: Path, d: str) -> None:
    result = invoke("timeline", *SMALL, "--d", d, "--proved")
    assert result.exit_code == 0
    assert "Proved for 5 tokens with β = 12" in result.stdout


def test_a_file_has_no_start_to_prove(here: Path) -> None:
    invoke("simulate", "--n", "4", "-o", "run.nc")
    result = invoke("timeline", "run.nc", "--proved")
    assert result.exit_code == 2
    assert "--proved needs a new run; leave out the file" in result.stderr
