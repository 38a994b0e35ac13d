"""The paper's figures: made whole, with what they claim."""

import dataclasses

import pytest

import parkade as pk
from parkade import paper, plots
from parkade.claims import CLAIMS
from parkade.paper import circle, fig1

FIGURES = ["fig1", "circle", "staircase"]


def test_every_item_is_listed_under_its_name():
    assert list(paper.FIGURES) == [*FIGURES, "verify"]
    for name, item in paper.FIGURES.items():
        assert item.name == name
        assert item.title


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    output = tmp_path_factory.mktemp("paper") / "new" / "directory"
    return output, paper.reproduce(FIGURES, output, seed=1)


def test_reproduce_writes_every_figure(made):
    output, results = made
    assert [result.name for result in results] == FIGURES
    for result in results:
        assert result.paths[:2] == [output / f"{result.name}.{kind}" for kind in ("png", "pdf")]
        assert result.seconds > 0
        png, pdf = (path.read_bytes() for path in result.paths[:2])
        assert png.startswith(b"\x89PNG\r\n\x1a\n")
        assert png.rstrip().endswith(b"IEND\xaeB`\x82")
        assert pdf.startswith(b"%PDF-1.")
        assert pdf.rstrip().endswith(b"%%EOF")
    written = {path for result in results for path in result.paths}
    assert set(output.iterdir()) == written


def test_the_staircase_comes_with_its_timeline(made):
    output, _ = made
    text = (output / "staircase.txt").read_text(encoding="utf-8")
    assert text.startswith("Metastable states")
    assert "end of run" in text


def test_the_verdicts_lie_in_a_directory_of_their_own(tmp_path, monkeypatch):
    # One claim stands for all: each has its own test.
    claim = dataclasses.replace(CLAIMS["lemma-c.1"], measure=quickly(CLAIMS["lemma-c.1"]))
    for name in list(CLAIMS):
        monkeypatch.delitem(CLAIMS, name)
    monkeypatch.setitem(CLAIMS, claim.name, claim)
    (result,) = paper.reproduce("verify", tmp_path)
    names = ["lemma-c.1.pdf", "lemma-c.1.png", "verdicts.json"]
    assert sorted(path.name for path in result.paths) == names
    assert sorted(path.name for path in (tmp_path / "verify").iterdir()) == names


def quickly(claim):
    return lambda effort: claim.measure(dataclasses.replace(effort, quick=True))


def test_the_same_seed_gives_the_same_files(made, tmp_path):
    output, _ = made
    paper.reproduce("circle", tmp_path, seed=1)
    for kind in ("png", "pdf"):
        assert (tmp_path / f"circle.{kind}").read_bytes() == (
            output / f"circle.{kind}"
        ).read_bytes()
    paper.reproduce(["circle", "circle"], tmp_path, seed=2)
    assert (tmp_path / "circle.png").read_bytes() != (output / "circle.png").read_bytes()


def test_an_unknown_name_is_refused_before_anything_is_made(tmp_path):
    output = tmp_path / "results"
    with pytest.raises(pk.InputError, match="one of 'fig1', 'circle', 'staircase', 'verify', got"):
        paper.reproduce(["circle", "fig9"], output)
    assert not output.exists()


def test_an_output_that_is_a_file_is_refused(tmp_path):
    file = tmp_path / "results"
    file.write_text("mine", encoding="utf-8")
    with pytest.raises(pk.InputError, match=r"cannot make the directory .*results"):
        paper.reproduce(["circle"], file)
    assert file.read_text(encoding="utf-8") == "mine"


def test_a_failing_figure_leaves_no_files(tmp_path, monkeypatch):
    def fail(*args, **options):
        raise pk.ParkadeError("the run failed")

    monkeypatch.setattr(circle, "simulate", fail)
    with pytest.raises(pk.ParkadeError, match="the run failed"):
        paper.reproduce(["circle"], tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("row", "expected", "seen"),
    [
        (0, "one point, x₁(0), for t → ∞", "1 point"),
        (1, "one point of L", "1 point in L"),
        (2, "two points ±ξ", "2 points in L"),
        (3, "cloud around L", "31 points, within"),
    ],
)
def test_panels_say_what_table_1_expects_and_what_is_seen(row, expected, seen):
    panel = fig1.PANELS[row]
    run = pk.simulate(
        pk.Attention(V=panel.V, beta=fig1.BETA), pk.sphere.uniform(fig1.N, 3, 1), fig1.T
    )
    ax = plots.new_figure().add_subplot()
    fig1.draw(panel, run, ax)
    title = ax.get_title().split("\n")
    assert title[0] == panel.value
    assert title[1] == f"expected: {expected}"
    assert title[2].startswith(f"seen: {seen}")
