"""The reference on the site lists every public name, and each has an example."""

from __future__ import annotations

import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import parkade
from parkade import plots, theory, trained

PAGES = sorted((Path(__file__).parents[1] / "docs" / "api").glob("*.rst"))
ENTRY = re.compile(r"^   (parkade\.[\w.]+)$", re.MULTILINE)


def own(module):
    """The public functions and classes that a module without a list of names defines."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
    ]


PUBLIC = {
    f"{home}.{name}": getattr(module, name)
    for home, module, names in [
        ("parkade", parkade, parkade.__all__),
        ("parkade.theory", theory, theory.__all__),
        ("parkade.plots", plots, plots.__all__),
        ("parkade.trained", trained, trained.__all__),
        ("parkade.sphere", parkade.sphere, own(parkade.sphere)),
        ("parkade.clusters", parkade.clusters, parkade.clusters.__all__),
        ("parkade.parking", parkade.parking, parkade.parking.__all__),
    ]
    for name in names
    if not inspect.ismodule(getattr(module, name))
}


def find(name):
    """What a name stands for; `parkade.theory.forecast` is a function, and a module as well."""
    home, _, own_name = name.rpartition(".")
    return getattr(pkgutil.resolve_name(home), own_name)


ENTRIES = [name for page in PAGES for name in ENTRY.findall(page.read_text("utf-8"))]
LISTED = {name: find(name) for name in ENTRIES}


def test_every_public_name_is_listed_once():
    assert len(ENTRIES) == len(LISTED)
    ids = {id(value) for value in LISTED.values()}
    assert not [name for name, value in PUBLIC.items() if id(value) not in ids]


@pytest.mark.parametrize("name", [name for name, value in LISTED.items() if callable(value)])
def test_every_public_function_and_class_has_an_example(name):
    assert re.search(r"^Examples\n--------\n>>> ", inspect.getdoc(LISTED[name]), re.MULTILINE)
