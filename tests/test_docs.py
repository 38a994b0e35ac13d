"""Everything shown is executed: docstrings, README and documentation pages."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import parkade

ROOT = Path(__file__).parents[1]
MODULES = {
    module.name: Path(module.module_finder.find_spec(module.name).origin)
    for module in pkgutil.walk_packages(parkade.__path__, "parkade.")
    if not module.name.endswith("__main__")  # importing it would run the program
}
EXAMPLES = sorted(name for name, file in MODULES.items() if ">>>" in file.read_text("utf-8"))
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", EXAMPLES)
def test_docstrings_tell_the_truth(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted
    assert result.failed == 0


def test_all_other_modules_can_be_imported():
    for name in MODULES.keys() - set(EXAMPLES):
        importlib.import_module(name)


def test_the_files_that_the_architecture_names_exist():
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    named = set(re.findall(r"`((?:[\w-]+/)+(?:\w+\.\w+)?)`", text))
    assert len(named) > 70
    places = (ROOT, ROOT / "src" / "parkade")
    assert not [name for name in named if not any((place / name).exists() for place in places)]
    for walk in re.split("^## ", text, flags=re.MULTILINE)[2:6]:
        stops = re.findall(r"^(\d+)\. `", walk, flags=re.MULTILINE)
        assert list(map(int, stops)) == list(range(1, len(stops) + 1))
        assert 5 < len(stops) <= 10
    functions = re.findall(r"`([\w/]+\.py)`, `(?:(\w+)\.)?(\w+)`", text)
    assert len(functions) > 5
    for file, _, function in functions:
        assert f"def {function}(" in (ROOT / "src" / "parkade" / file).read_text("utf-8"), file


def run_page(text):
    """Run the python blocks of a page in one namespace; yield (shown, printed) outputs.

    A ```text block right after a ```python block shows what that block prints.
    """
    blocks = FENCE.findall(text)
    namespace = {"__name__": "__main__"}
    for i, (language, code) in enumerate(blocks):
        following, shown = blocks[i + 1] if i + 1 < len(blocks) else ("", "")
        if language == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(code, "<page>", "exec"), namespace)
            if following == "text":
                yield shown, printed.getvalue()


@pytest.mark.usefixtures("plain_pictures")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_print_what_they_show(page, here, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    for shown, printed in run_page(page.read_text(encoding="utf-8")):
        assert printed == shown


def test_the_page_runner_notices_a_wrong_output():
    page = "```python\nx = 2\n```\nwords\n```python\nprint(x)\n```\n\n```text\n{}\n```\n"
    assert list(run_page(page.format(2))) == [("2\n", "2\n")]
    assert list(run_page(page.format(3))) == [("3\n", "2\n")]
    assert not list(run_page("```python\nprint(1)\n```\n```console\n1\n```\n```text\n1\n```\n"))


HEAVY = {"llvmlite", "matplotlib", "numba", "pandas", "scipy", "xarray"}
IMPORTS = [
    ("import parkade; parkade.ensemble, parkade.theory", HEAVY | {"rich", "typer"}),
    ("from parkade.cli import app; app(['simulate', '--help'], standalone_mode=False)", HEAVY),
    ("import parkade.experiments.figures", {"matplotlib"}),
    ("import parkade.plots", {"matplotlib.pyplot"}),
]


@pytest.mark.parametrize(("statements", "heavy"), IMPORTS)
def test_imports_are_light(statements, heavy):
    code = f"import sys; {statements}; print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert "parkade.solve.solver" in loaded or "parkade.ensemble" not in statements
    assert not heavy & loaded


def tracked_files():
    """Files under version control; outside a checkout, those of the source tree."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listing.returncode == 0:
        return [path for name in listing.stdout.split("\0") if (path := ROOT / name).is_file()]
    return [path for path in (ROOT / "src").rglob("*") if path.is_file()]


def test_no_file_knows_the_machine_it_was_written_on():
    homes = "|".join(["work", "root", "home"])
    path_of_ours = re.compile(rf"(?<![\w.~}}])/({homes})/".encode())
    files = tracked_files()
    assert len(files) > 10
    assert not [str(file) for file in files if path_of_ours.search(file.read_bytes())]
