"""Files of experiments are complete, and say what was found."""

import csv

import pytest

from parkade.experiments.output import Table, save_picture, write, write_table


def test_a_picture_is_a_png_and_a_pdf(tmp_path):
    picture = save_picture(
        lambda figure: figure.subplots().plot([0, 1]), 2.0, tmp_path / "a.png", "A line."
    )
    png, pdf = (path.read_bytes() for path in picture.paths)
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert pdf.startswith(b"%PDF-1.")
    assert picture.caption == "A line."


def test_a_picture_that_cannot_be_drawn_leaves_no_file(tmp_path):
    def fail(figure):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        save_picture(fail, 2.0, tmp_path / "a.png", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_a_table_can_be_read_again(tmp_path, delimiter):
    rows = [["V", "seen"], ["diag(1, ½)", 'at "ξ"; or −ξ']]
    path = write_table(Table(rows, "a.csv", delimiter), tmp_path)
    with path.open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file, delimiter=delimiter)) == rows


def test_plain_cells_are_written_plainly(tmp_path):
    path = write_table(Table([["t", "mean"], ["1", "2 ± 0.1"]], "a.csv"), tmp_path)
    assert path.read_bytes() == "t,mean\n1,2 ± 0.1\n".encode()


def test_text_and_bytes_are_written(tmp_path):
    assert write(tmp_path / "a", "β").read_bytes() == "β".encode()
    assert write(tmp_path / "b", b"\0").read_bytes() == b"\0"
