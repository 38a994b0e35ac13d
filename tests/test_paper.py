"""The paper's figures: made whole, with what they claim."""

import numpy as np
import pytest

import parkade as pk
from parkade import paper
from parkade.paper import circle, fig1


def test_every_item_is_listed_under_its_name():
    assert list(paper.FIGURES) == ["fig1", "circle", "staircase"]
    for name, item in paper.FIGURES.items():
        assert item.name == name
        assert item.title


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    output = tmp_path_factory.mktemp("paper") / "new" / "directory"
    return output, paper.reproduce(None, output, seed=1)


def test_reproduce_writes_every_figure(made):
    output, results = made
    assert [result.name for result in results] == list(paper.FIGURES)
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
    with pytest.raises(pk.InputError, match="one of 'fig1', 'circle', 'staircase', got 'fig9'"):
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


def test_distinct_counts_points_farther_apart_than_the_radius():
    gaps = np.array([0, 0.9, 1.1, 50, 50.5, 100]) * fig1.APART
    angles = pk.sphere.from_angles(gaps)
    assert fig1.distinct(angles) == 4
    assert fig1.distinct(angles[:1]) == 1


def test_angle_to_the_leading_directions():
    tokens = pk.sphere.normalize([[1, 0, 0], [1, 1, 0], [1, 0, np.tan(0.2)]])
    assert fig1.angle_to_leading(tokens, 2) == pytest.approx(0.2)
    assert fig1.angle_to_leading(tokens, 1) == pytest.approx(np.pi / 4)


@pytest.mark.parametrize("panel", fig1.PANELS, ids=lambda panel: panel.value)
def test_the_panels_name_the_leading_eigenspace(panel):
    V = pk.Attention(V=panel.V).V
    values, vectors = np.linalg.eig(V)
    top = np.isclose(values.real, values.real.max())
    assert top.sum() == panel.leading
    assert np.abs(vectors[panel.leading :, top]).max(initial=0) < 1e-12
    rank = np.linalg.matrix_rank(vectors[:, top])
    assert rank == panel.leading


@pytest.mark.parametrize(("row", "count"), [(1, 1), (2, 2)])
def test_attracting_panels_end_where_table_1_says(row, count):
    panel = fig1.PANELS[row]
    run = pk.simulate(
        pk.Attention(V=panel.V, beta=fig1.BETA), pk.sphere.uniform(fig1.N, 3, 1), fig1.T
    )
    assert fig1.distinct(run.final) == count
    assert fig1.angle_to_leading(run.final, panel.leading) < 1e-5
