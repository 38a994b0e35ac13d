"""The gallery and the notebook: their form, and that they run."""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

ROOT = Path(__file__).parents[1]
GALLERY = sorted(ROOT.glob("examples/*/*.py"))
# Those on many runs and many tokens take longer. `make docs` runs them all.
QUICK = [file for file in GALLERY if file.parent.name != "4_many"]


def name(file):
    return f"{file.parent.name}/{file.stem}"


@pytest.mark.parametrize("file", GALLERY, ids=name)
def test_an_example_is_a_question_with_its_answer_and_figure(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    title, line, empty, *text = ast.get_docstring(tree).splitlines()
    assert title.endswith("?")
    assert line == "=" * len(title)
    assert not empty
    assert text[0].startswith("**Answer.** ")
    assert (file.parent / "GALLERY_HEADER.rst").is_file()


def shown(file):
    """Run an example, and return the figures that its statements give."""
    values = {"__name__": "__main__"}
    figures = []
    for statement in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Expr):
            value = eval(compile(ast.Expression(statement.value), file, "eval"), values)
            figures += [value] if isinstance(value, Axes | Figure) else []
        else:
            exec(compile(ast.Module([statement], []), file, "exec"), values)
    return figures


@pytest.mark.parametrize("file", QUICK, ids=name)
def test_an_example_runs(file, here):
    with mpl.rc_context({"backend": "agg"}):
        assert shown(file)
    assert not list(here.iterdir())  # it leaves nothing behind


def test_the_front_page_counts_the_examples():
    words = {22: "Twenty-two", 23: "Twenty-three", 24: "Twenty-four", 25: "Twenty-five"}
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert f"{words[len(GALLERY)]} questions" in page
    log = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"gallery of {len(GALLERY)}\s+questions", log)


def test_the_notebook_runs(tmp_path):
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(shutil.copy(ROOT / "examples/quickstart.ipynb", tmp_path), 4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs for cell in code)  # none is kept
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()
    text = "".join(out.get("text", "") for cell in code for out in cell.outputs)
    assert "5 clusters, led by tokens [ 0  1  5  8 12]" in text
    assert "4 of 4 partners right" in text
    bars = [
        out.data["text/html"]
        for cell in code
        for out in cell.outputs
        if "data" in out
        and set(out.data) == {"text/html", "text/plain"}
        and out.output_type == "display_data"
    ]
    assert bars == ["", ""]  # drawn without ipywidgets, and gone at the end
    assert "warn" not in text
    kinds = [kind for cell in code for out in cell.outputs for kind in out.get("data", {})]
    assert kinds.count("image/png") == 2
    page = next(out.data["text/html"] for out in code[-2].outputs if "data" in out)
    assert page.startswith("<iframe")
