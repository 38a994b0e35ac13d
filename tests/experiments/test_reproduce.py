"""`reproduce`: figures are complete, reused if they are there, and made again if not."""

import dataclasses
import json

import pytest
from support.experiments import fake_exhibit, replace_all

import parkade as pk
from parkade.experiments.experiment import CAUSAL_CLUSTERING
from parkade.experiments.figures import fig2
from parkade.experiments.figures.registry import FIGURES
from parkade.experiments.reproduce import reproduce

REAL = ["fig1-qk", "fig2"]
"""Two that take no ensemble; others have tests of their own."""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    output = tmp_path_factory.mktemp("paper") / "new" / "directory"
    return output, reproduce(REAL, output, seed=1)


@pytest.fixture
def fakes(monkeypatch):
    """Three figures that take no time in the place of the real ones."""
    replace_all(monkeypatch, FIGURES, map(fake_exhibit, ("one", "two", "three")))
    monkeypatch.setattr("parkade.experiments.reproduce._ENGINES", ())  # they need none
    return FIGURES


def test_reproduce_writes_every_figure(made):
    output, results = made
    assert [result.name for result in results] == REAL
    for result in results:
        assert result.paths[:2] == [output / f"{result.name}.{kind}" for kind in ("png", "pdf")]
        assert result.seconds > 0
        assert not result.reused
        png, pdf = (path.read_bytes() for path in result.paths[:2])
        assert png.startswith(b"\x89PNG\r\n\x1a\n")
        assert png.rstrip().endswith(b"IEND\xaeB`\x82")
        assert pdf.startswith(b"%PDF-1.")
        assert pdf.rstrip().endswith(b"%%EOF")
        record = json.loads((output / f"{result.name}.json").read_text(encoding="utf-8"))
        assert record["made"]["measured"]
        assert record["statement"]
    written = {path for result in results for path in result.paths}
    records = {output / f"{name}.json" for name in REAL}
    assert set(output.iterdir()) == written | records | {output / "index.html"}


def test_what_is_there_is_kept_and_what_is_missing_made_again(made):
    output, _ = made
    (output / "fig2.png").unlink()
    page = (output / "index.html").read_bytes()
    again = reproduce(REAL, output, seed=1)
    assert [result.name for result in again if not result.reused] == ["fig2"]
    assert (output / "fig2.png").exists()
    assert len((output / "index.html").read_bytes()) == pytest.approx(len(page), abs=100)


def test_other_settings_are_made_again(made, tmp_path):
    output, _ = made
    reproduce("fig2", tmp_path, seed=1)
    for kind in ("png", "pdf"):  # same seed, same bytes
        assert (tmp_path / f"fig2.{kind}").read_bytes() == (output / f"fig2.{kind}").read_bytes()
    (result,) = reproduce(["fig2", "fig2"], tmp_path, seed=2)
    assert not result.reused
    assert (tmp_path / "fig2.png").read_bytes() != (output / "fig2.png").read_bytes()


def test_nothing_is_measured_twice_with_the_same_settings(fakes, tmp_path):
    for options in ({}, {}, {"quick": True}, {"quick": True}, {"runs": 5}):
        reproduce("one", tmp_path, **options)
    assert [exhibit.measure.calls for exhibit in fakes.values()] == [3, 0, 0]


def test_an_interrupted_call_goes_on_where_it_stopped(fakes, tmp_path):
    right = fakes["two"]
    fakes["two"] = fake_exhibit("two", fail=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        reproduce(None, tmp_path)
    assert (tmp_path / "one.json").exists()
    assert not (tmp_path / "three.json").exists()
    fakes["two"] = right
    assert [result.reused for result in reproduce(None, tmp_path)] == [True, False, False]


def test_with_all_others_small_samples_are_enough_for_what_is_beyond_the_paper(fakes, tmp_path):
    fakes["one"] = dataclasses.replace(fakes["one"], paper=CAUSAL_CLUSTERING)

    def samples():
        records = [json.loads((tmp_path / f"{name}.json").read_text()) for name in fakes]
        return [record["settings"]["quick"] for record in records]

    reproduce(None, tmp_path)
    assert samples() == [False, True, True]
    assert [made.reused for made in reproduce("two", tmp_path)] == [False]
    assert samples() == [False, False, True]
    # What is complete is not replaced by a small sample.
    assert all(made.reused for made in reproduce(None, tmp_path))


def test_the_page_shows_all_that_is_there_in_the_order_of_the_registry(fakes, tmp_path):
    for name in ("three", "one"):
        reproduce(name, tmp_path)
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert 0 < text.index('<section id="one">') < text.index('<section id="three">')
    assert '<section id="two">' not in text


def test_an_unknown_name_is_refused_before_anything_is_made(tmp_path):
    output = tmp_path / "results"
    with pytest.raises(pk.InputError, match=r"the figure must be one of 'fig1', .* got 'fig9'"):
        reproduce(["fig2", "fig9"], output)
    with pytest.raises(pk.InputError, match="runs must be a whole number ≥ 1, got 0"):
        reproduce("fig2", output, runs=0)
    assert not output.exists()


def test_an_output_that_is_a_file_is_refused(tmp_path):
    file = tmp_path / "results"
    file.write_text("mine", encoding="utf-8")
    with pytest.raises(pk.InputError, match=r"cannot make the directory .*results"):
        reproduce(["fig2"], file)
    assert file.read_text(encoding="utf-8") == "mine"


def test_a_failing_figure_leaves_no_files(tmp_path, monkeypatch):
    def fail(*args, **options):
        raise pk.ParkadeError("the run failed")

    monkeypatch.setattr(fig2, "simulate", fail)
    with pytest.raises(pk.ParkadeError, match="the run failed"):
        reproduce(["fig2"], tmp_path)
    assert list(tmp_path.iterdir()) == []
