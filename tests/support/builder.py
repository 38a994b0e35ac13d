"""Modules of the builder of engines for pages, as Python: nothing in them is compiled."""

from __future__ import annotations

import functools
import importlib
import sys
from pathlib import Path

import numpy as np

BUILDER = Path(__file__).parents[2] / "packaging" / "wasm"
_MAKERS = {"floats": float, "integers": np.int64, "flags": bool}


def interpreted(monkeypatch, *names):
    """Some modules, with those that they import, whose functions Python runs."""
    monkeypatch.syspath_prepend(str(BUILDER))
    paths = [path.relative_to(BUILDER).with_suffix("") for path in BUILDER.rglob("*.py")]
    ours = [".".join(path.parts) for path in paths]
    for name in ours:
        monkeypatch.delitem(sys.modules, name, raising=False)
    result = [importlib.import_module(name) for name in names]
    for module in [sys.modules[name] for name in ours if name in sys.modules]:
        for key, value in vars(module).copy().items():
            if hasattr(value, "py_func"):
                monkeypatch.setattr(module, key, value.py_func)
            elif key in _MAKERS:
                monkeypatch.setattr(module, key, functools.partial(np.zeros, dtype=_MAKERS[key]))
    return result


def leaves(bundle):
    """The fields of a NamedTuple, and those of its fields."""
    for value in bundle:
        if isinstance(value, tuple):
            yield from leaves(value)
        else:
            yield value
