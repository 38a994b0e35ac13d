"""Fixtures of the tests of the explorer."""

from __future__ import annotations

import importlib
import sys

import pytest
from support.builder import BUILDER


@pytest.fixture
def part(monkeypatch):
    """Gives modules of the builder of engines for pages, whose functions are not compiled."""
    monkeypatch.syspath_prepend(str(BUILDER))

    def load(name):
        monkeypatch.delitem(sys.modules, name, raising=False)
        module = importlib.import_module(name)
        for key, value in vars(module).items():
            if hasattr(value, "py_func"):
                monkeypatch.setattr(module, key, value.py_func)
        return module

    return load
