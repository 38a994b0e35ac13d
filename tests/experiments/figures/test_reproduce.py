"""The paper's figures: made whole, with what they claim, kept, and shown on one page."""

import dataclasses
import html.parser
import json

import numpy as np
import pytest

import parkade as pk
from parkade import plots
from parkade.experiments import figures
from parkade.experiments.claims import CLAIMS
from parkade.experiments.figures import fig2, share
from parkade.plots.ending import draw_ending
from parkade.theory.paper import FIGURE_1, TABLE_1

FIGURES = ["fig1", "fig1-late", "fig1-qk", "fig2", "staircase"]
"""Those that take no ensemble."""


def test_every_item_is_listed_under_its_name():
    assert set(figures.FIGURES) == {*FIGURES, "fig3", "share", "table1", "verify"}
    for name, item in figures.FIGURES.items():
        assert item.name == name
        assert item.title
        assert item.statement


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    output = tmp_path_factory.mktemp("paper") / "new" / "directory"
    return output, figures.reproduce(FIGURES, output, seed=1)


def test_reproduce_writes_every_figure(made):
    output, results = made
    assert [result.name for result in results] == FIGURES
    for result in results:
        assert result.paths[:2] == [output / f"{result.name}.{kind}" for kind in ("png", "pdf")]
        assert result.seconds > 0
        assert not result.kept
        png, pdf = (path.read_bytes() for path in result.paths[:2])
        assert png.startswith(b"\x89PNG\r\n\x1a\n")
        assert png.rstrip().endswith(b"IEND\xaeB`\x82")
        assert pdf.startswith(b"%PDF-1.")
        assert pdf.rstrip().endswith(b"%%EOF")
    written = {path for result in results for path in result.paths}
    records = {output / f"{name}.json" for name in FIGURES}
    assert set(output.iterdir()) == written | records | {output / "index.html"}


def test_what_is_there_is_kept_and_what_is_missing_made_again(made):
    output, _ = made
    (output / "fig2.png").unlink()
    page = (output / "index.html").read_bytes()
    again = figures.reproduce(FIGURES, output, seed=1)
    assert [result.name for result in again if not result.kept] == ["fig2"]
    assert (output / "fig2.png").exists()
    assert len((output / "index.html").read_bytes()) == pytest.approx(len(page), abs=100)


def test_other_settings_are_made_again(made, tmp_path):
    output, _ = made
    figures.reproduce("fig2", tmp_path, seed=1)
    for kind in ("png", "pdf"):  # same seed, same bytes
        assert (tmp_path / f"fig2.{kind}").read_bytes() == (output / f"fig2.{kind}").read_bytes()
    (result,) = figures.reproduce(["fig2", "fig2"], tmp_path, seed=2)
    assert not result.kept
    assert (tmp_path / "fig2.png").read_bytes() != (output / "fig2.png").read_bytes()


class Page(html.parser.HTMLParser):
    """Collects what the tests ask about."""

    def __init__(self, text):
        super().__init__()
        self.images, self.sections, self.links, self.open = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag == "img":
            self.images.append(values["src"])
            assert values["alt"]
        if tag == "section":
            self.sections.append(values["id"])
        if tag == "a":
            self.links.append(values["href"])
        if tag not in ("img", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_holds_everything_and_needs_nothing(made):
    output, _ = made
    text = (output / "index.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.open == []
    assert page.sections == FIGURES
    assert len(page.images) == len(FIGURES)
    assert all(image.startswith("data:image/png;base64,") for image in page.images)
    outside = [link for link in page.links if "//" in link]
    assert outside == ["https://arxiv.org/abs/2411.04990"]
    for link in set(page.links) - set(outside):
        assert link.startswith("#") or (output / link).exists()
    for name in FIGURES:
        record = json.loads((output / f"{name}.json").read_text(encoding="utf-8"))
        assert f"<code>parkade reproduce {name} --seed 1</code>" in text
        assert record["made"]["measured"]
        assert record["statement"]


def test_the_staircase_comes_with_its_timeline(made):
    output, _ = made
    text = (output / "staircase.txt").read_text(encoding="utf-8")
    assert text.startswith("Metastable states")
    assert "end of run" in text


def test_figure_2_counts_what_the_finders_find(made):
    output, _ = made
    numbers = json.loads((output / "fig2.json").read_text(encoding="utf-8"))["made"]["numbers"]
    start = pk.sphere.uniform(fig2.N, 2, 1)
    assert numbers["strong"] == pk.strong_renyi_centers(start, 0.5).tolist()
    assert numbers["renyi"] == pk.renyi_centers(start, 0.5).tolist()
    moved = dict(
        zip(numbers["renyi"], numbers["moved at t=150, in units of β^{-1/2}"], strict=True)
    )
    assert max(moved[k] for k in numbers["strong"]) < 0.1


def test_figure_3_goes_on_where_it_stopped(tmp_path):
    (first,) = figures.reproduce("fig3", tmp_path, runs=60)
    assert [path.name for path in first.paths] == ["fig3.png", "fig3.pdf", "fig3.csv"]
    numbers = json.loads((tmp_path / "fig3.json").read_text(encoding="utf-8"))["made"]["numbers"]
    # Five standard errors: fails by chance with a probability of 6e-7.
    value, error = numbers["strong"]["centers"]
    assert abs(value - numbers["strong"]["expected"]) < 5 * error
    rows = [row.split(",") for row in (tmp_path / "fig3.csv").read_text("utf-8").splitlines()]
    weak, strong = (float(row[2]) for row in rows[-2:])
    assert 50 < strong <= weak <= 100
    # An interrupted ensemble has some of its batches; the figure comes out the same.
    table = (tmp_path / "fig3.csv").read_bytes()
    store = tmp_path / "fig3-60-runs-seed-0"
    batches = sorted(store.glob("*.nc"))
    batches[0].unlink()
    kept = batches[1].stat().st_mtime_ns
    (tmp_path / "fig3.json").unlink()
    (again,) = figures.reproduce("fig3", tmp_path, runs=60)
    assert not again.kept
    assert batches[0].exists()
    assert batches[1].stat().st_mtime_ns == kept
    assert (tmp_path / "fig3.csv").read_bytes() == table


def test_what_centers_capture_is_counted_token_by_token(tmp_path, monkeypatch):
    monkeypatch.setattr(share, "SIZES", (50, 200))
    (result,) = figures.reproduce("share", tmp_path, quick=True)
    assert [path.name for path in result.paths] == ["share.png", "share.pdf", "share.csv"]
    rows = [row.split(",") for row in (tmp_path / "share.csv").read_text("utf-8").splitlines()]
    assert [row[0] for row in rows] == ["n", "50", "200"]
    runs, last = int(rows[2][1]), float(rows[2][-1].split()[0])
    model, found = pk.Attention(d=2, beta=64.0), []
    recipe = {"n": 200, "runs": runs, "seed": 0, "times": [0.0, 50.0], "t_end": 50.0}
    for tokens in pk.ensemble(model, measure="trajectory", **recipe).tokens.values:
        start, end = tokens
        who = pk.strong_renyi_centers(start, 0.5)
        near = [
            (pk.sphere.distance(x[:, None], x[None, who]) <= 0.02 / 8).any(axis=1).sum()
            for x in (start, end)
        ]
        found.append((near[1] - near[0]) / len(who))
    assert last == pytest.approx(np.mean(found), rel=1e-3)
    numbers = json.loads((tmp_path / "share.json").read_text("utf-8"))["made"]["numbers"]
    # At t = 50 nearly all tokens are captured, whatever n: a power of 1.
    assert numbers["exponents"]["50"][0] == pytest.approx(1.0, abs=0.1)


def test_table_1_as_measured(tmp_path):
    (result,) = figures.reproduce("table1", tmp_path, quick=True)
    assert [path.name for path in result.paths] == ["table1.png", "table1.pdf", "table1.csv"]
    rows = (tmp_path / "table1.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 6
    assert rows[2].startswith("V = diag(1, 1, −1);1;2;one point;conjecture;")
    assert all(row.endswith(";100% of runs") for row in rows[1:])


def test_the_verdicts_lie_in_a_directory_of_their_own(tmp_path, monkeypatch):
    # One claim stands for all: each has its own test.
    claim = dataclasses.replace(CLAIMS["lemma-c.1"])
    for name in list(CLAIMS):
        monkeypatch.delitem(CLAIMS, name)
    monkeypatch.setitem(CLAIMS, claim.name, claim)
    (result,) = figures.reproduce("verify", tmp_path, quick=True)
    names = ["lemma-c.1.pdf", "lemma-c.1.png", "verdicts.json"]
    assert sorted(path.name for path in result.paths) == names
    assert sorted(path.name for path in (tmp_path / "verify").iterdir()) == names
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "<td>lemma-c.1</td><td>lemma</td>" in page


def test_an_unknown_name_is_refused_before_anything_is_made(tmp_path):
    output = tmp_path / "results"
    with pytest.raises(pk.InputError, match=r"the figure must be one of 'fig1', .* got 'fig9'"):
        figures.reproduce(["fig2", "fig9"], output)
    with pytest.raises(pk.InputError, match="runs must be a whole number ≥ 1, got 0"):
        figures.reproduce("fig2", output, runs=0)
    assert not output.exists()


def test_an_output_that_is_a_file_is_refused(tmp_path):
    file = tmp_path / "results"
    file.write_text("mine", encoding="utf-8")
    with pytest.raises(pk.InputError, match=r"cannot make the directory .*results"):
        figures.reproduce(["fig2"], file)
    assert file.read_text(encoding="utf-8") == "mine"


def test_a_failing_figure_leaves_no_files(tmp_path, monkeypatch):
    def fail(*args, **options):
        raise pk.ParkadeError("the run failed")

    monkeypatch.setattr(fig2, "simulate", fail)
    with pytest.raises(pk.ParkadeError, match="the run failed"):
        figures.reproduce(["fig2"], tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("row", "expected", "seen"),
    [
        ("V = I", "one point, x₁(0), for t → ∞", "1 point"),
        ("V = diag(1, 1, −1)", "one point of L", "1 point in L"),
        ("V = diag(1, ½, ¼)", "two points ±ξ", "2 points in L"),
        ("V = diag(−1, −1, −2)", "cloud around L", "31 points, within"),
    ],
)
def test_panels_say_what_table_1_expects_and_what_is_seen(row, expected, seen):
    d, n, beta, t_end = FIGURE_1
    start = pk.sphere.uniform(n, d, 1)
    run = pk.simulate(pk.Attention(V=TABLE_1[row], beta=beta), start, t_end)
    ax = plots.new_figure().add_subplot()
    assert draw_ending(run, row, ax)[0] == expected
    title = ax.get_title().split("\n")
    assert title[:2] == [row, f"expected: {expected}"]
    assert title[2].startswith(f"seen: {seen}")


def test_centers_are_drawn_where_they_are():
    start = pk.sphere.uniform(50, 2, 1)
    run = pk.simulate(pk.Attention(d=2, beta=64.0), start, 20.0)
    ax = plots.centers(run, 0.5, t=5.0)
    tokens, _weak, strong = (np.asarray(c.get_offsets()) for c in ax.collections)
    np.testing.assert_allclose(tokens, run.at(5.0))
    expected = 1.1 * run.at(5.0)[pk.strong_renyi_centers(start, 0.5)]
    np.testing.assert_allclose(strong, expected)
    assert ax.get_legend() is not None
    with pytest.raises(pk.InputError, match="d=2"):
        plots.centers(pk.simulate(pk.Attention(d=3), pk.sphere.uniform(5, 3, 1), 1.0), 0.5)
