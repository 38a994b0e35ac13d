"""Files are complete or absent, and drawing changes no settings of others."""

from concurrent.futures import ThreadPoolExecutor

import matplotlib as mpl
import pytest

import parkade as pk
from parkade import plots
from parkade.plots import style


@pytest.fixture(scope="module")
def run():
    return pk.simulate(pk.Attention(d=2, beta=25.0), pk.sphere.uniform(30, 2, seed=3), 20.0)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (20000, "20000"), (-0.25, "−0.25"), (98.4812, "98.48"),
        (1e60, "$10^{60}$"), (2.5e13, r"$2.5\times10^{13}$"),
    ],
)  # fmt: skip
def test_numbers_are_written_as_in_a_paper(value, text):
    assert style.number(value) == text


@pytest.mark.parametrize(("name", "head"), [("a.png", b"\x89PNG\r\n\x1a\n"), ("a.PDF", b"%PDF-1.")])
def test_save_writes_the_kind_the_suffix_names(run, tmp_path, name, head):
    path = plots.save(plots.overview(run), tmp_path / name)
    content = path.read_bytes()
    assert content.startswith(head)
    assert len(content) > 5000
    if head.startswith(b"%PDF"):
        assert content.rstrip().endswith(b"%%EOF")
        assert b"/FontFile2" in content  # TrueType, embedded
        assert b"/Type3" not in content
    else:
        width = int.from_bytes(content[16:20], "big")
        assert width == round(style.PAGE * 200)


@pytest.mark.parametrize("kind", ["png", "pdf", "svg"])
def test_the_same_figure_is_the_same_file(run, tmp_path, kind, monkeypatch):
    files = []
    for clock in ("0", "1000000"):  # matplotlib takes the time of day from here
        monkeypatch.setenv("SOURCE_DATE_EPOCH", clock)
        files.append(plots.save(plots.circle(run).figure, tmp_path / f"{clock}.{kind}"))
    assert files[0].read_bytes() == files[1].read_bytes()


def test_save_refuses_other_suffixes(run, tmp_path):
    with pytest.raises(pk.InputError, match=r"plot\.gif: .* one of \.png, \.pdf, \.svg"):
        plots.save(plots.circle(run).figure, tmp_path / "plot.gif")
    assert list(tmp_path.iterdir()) == []


def test_save_leaves_the_old_file_when_drawing_fails(run, tmp_path, monkeypatch):
    target = tmp_path / "plot.png"
    target.write_bytes(b"old")
    figure = plots.circle(run).figure

    def fail(file, **options):
        file.write(b"half a figure")
        raise RuntimeError("no ink")

    monkeypatch.setattr(figure, "savefig", fail)
    with pytest.raises(RuntimeError, match="no ink"):
        plots.save(figure, target)
    assert [path.name for path in tmp_path.iterdir()] == ["plot.png"]
    assert target.read_bytes() == b"old"


def test_save_wants_a_figure(run, tmp_path):
    with pytest.raises(pk.InputError, match=r"needs a matplotlib Figure, got Axes; .*ax\.figure"):
        plots.save(plots.circle(run), tmp_path / "plot.png")


def test_figures_show_themselves_in_a_notebook(run):
    assert plots.circle(run).figure._repr_png_().startswith(b"\x89PNG")


def test_threads_leave_the_settings_as_they_were(run, tmp_path):
    before = dict(mpl.rcParams)

    def draw(i):
        return plots.save(plots.circle(run).figure, tmp_path / f"{i}.png").read_bytes()

    with ThreadPoolExecutor(6) as pool:
        assert len(set(pool.map(draw, range(6)))) == 1
    assert dict(mpl.rcParams) == before
