"""Modules put into one script do what they did apart."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from parkade.base.errors import ParkadeError
from parkade.explorer.standalone.bundle import bundle
from parkade.explorer.standalone.export import PAGE

NODE = shutil.which("node")


def write(folder, **modules):
    for name, text in modules.items():
        (folder / f"{name}.js").write_text(text, encoding="utf-8")
    return folder / "main.js"


MAIN = """
import { twice, Box as Case,
  three } from './a.js';
import * as b from "./b.js";
const hidden = 5;
console.log(twice(three), new Case().name, b.hidden(), b.renamed, hidden);
"""
A = """
import { hidden } from './b.js';
export const three = 3;
export function twice(x) { return 2 * x + hidden(); }
export class Box { name = 'box'; }
"""
B = """
const inner = 1;
export async function later() {}
export const hidden = () => inner;
export { inner as renamed };
"""


@pytest.mark.skipif(NODE is None, reason="needs node")
def test_modules_do_together_what_they_did_apart(tmp_path):
    main = write(tmp_path, main=MAIN, a=A, b=B)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    one = tmp_path / "one.mjs"
    one.write_text(bundle(main), encoding="utf-8")
    said = [subprocess.run([NODE, f], capture_output=True, text=True, check=True).stdout
            for f in (main, one)]  # fmt: skip
    assert said[0] == said[1] == "7 box 1 1 5\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("import x from './a.js';", "import x from"),
        ("import './a.js';", "import './a.js'"),
        ("import { x } from 'https://cdn.example/x.js';", "https://cdn.example"),
        ("export default 3;", "export default"),
        ("export let x = 3;", "export let"),
        ("const a = await import('./a.js');", "import("),
        ("const a = '</script>';", "a tag"),
    ],
)
def test_other_modules_are_refused(tmp_path, text, sentence):
    main = write(tmp_path, main=text, a="")
    with pytest.raises(ParkadeError, match=r"main.js must use imports and exports") as caught:
        bundle(main)
    assert sentence in str(caught.value)


def test_cycles_are_refused(tmp_path):
    main = write(tmp_path, main="import { a } from './a.js';", a="import { b } from './main.js';")
    with pytest.raises(ParkadeError, match=r"in a cycle, got main.js → a.js → main.js"):
        bundle(main)


@pytest.mark.skipif(NODE is None, reason="needs node")
def test_the_script_of_the_page_is_one(tmp_path):
    one = tmp_path / "one.mjs"
    one.write_text(bundle(PAGE / "main.js"), encoding="utf-8")
    subprocess.run([NODE, "--check", one], check=True)


def test_a_module_that_has_changed(tmp_path):
    """Nothing of the old one is kept."""
    main = write(tmp_path, main=MAIN, a=A, b=B)
    assert "const inner = 1;" in bundle(main)
    write(tmp_path, b=B.replace("1", "2"))
    assert "const inner = 2;" in bundle(main)
    assert "const inner = 1;" not in bundle(main)
