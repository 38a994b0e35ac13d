"""The reference on the site lists every public name, and each has an example."""

from __future__ import annotations

import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import parkade

PAGES = sorted((Path(__file__).parents[1] / "docs" / "api").glob("*.rst"))
ENTRY = re.compile(r"^   (parkade\.[\w.]+)$", re.MULTILINE)

MODULES = {
    "parkade": parkade,
    "parkade.theory.lemmas": parkade.theory.lemmas,
    **{
        f"parkade.{name}": module
        for name in parkade.__all__
        if inspect.ismodule(module := getattr(parkade, name))
    },
}
PUBLIC = {
    f"{home}.{name}": value
    for home, module in MODULES.items()
    for name in module.__all__
    if not inspect.ismodule(value := getattr(module, name))
}


def find(name):
    """What a name stands for; `parkade.theory.forecast` is a function, and a module as well."""
    home, _, own_name = name.rpartition(".")
    return getattr(pkgutil.resolve_name(home), own_name)


ENTRIES = [name for page in PAGES for name in ENTRY.findall(page.read_text("utf-8"))]
LISTED = {name: find(name) for name in ENTRIES}


@pytest.mark.parametrize("home", MODULES)
def test_a_module_shows_its_public_names_and_nothing_else(home):
    module = MODULES[home]
    assert set(dir(module)) - {"__version__"} == set(module.__all__)
    assert len(set(module.__all__)) == len(module.__all__)


def test_every_function_and_class_has_one_public_name():
    objects = [value for value in PUBLIC.values() if callable(value)]
    assert len({id(value) for value in objects}) == len(objects)


def test_every_public_name_is_listed_once():
    assert len(ENTRIES) == len(LISTED)
    assert not PUBLIC.keys() - LISTED.keys()


@pytest.mark.parametrize("name", [name for name, value in LISTED.items() if callable(value)])
def test_every_public_function_and_class_has_an_example(name):
    assert re.search(r"^Examples\n--------\n>>> ", inspect.getdoc(LISTED[name]), re.MULTILINE)
